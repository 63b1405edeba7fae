"""Trilu, upper and lower, with a diagonal that is data or absent."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((2, 3, 5)).astype(np.float32)
n = rng.integers(1, 9, (4, 4))
nodes = [
    node("Trilu", ["x", "k"], ["upper"], "upper"),
    node("Trilu", ["x", "k"], ["lower"], "lower", upper=0),
    node("Trilu", ["n"], ["upper_i64"], "upper_i64"),
    node("Trilu", ["n"], ["lower_i64"], "lower_i64", upper=0),
]
dims = ["batch", "rows", 5]
inputs = [Value("x", np.float32, dims), Value("k", np.int64, []), Value("n", np.int64, ["a", "b"])]
outputs = [Value(name, np.float32, dims) for name in ("upper", "lower")]
outputs += [Value(name, np.int64, ["a", "b"]) for name in ("upper_i64", "lower_i64")]
proto = model(nodes, inputs, outputs, opsets={"": 21})
runs = [
    Run(
        {"x": x, "k": np.array(k, np.int64), "n": n},
        {"upper": np.triu(x, k), "lower": np.tril(x, k),
         "upper_i64": np.triu(n), "lower_i64": np.tril(n)},
    )
    for k in (1, -2, 7)
]
write_case(__file__, proto, runs)
