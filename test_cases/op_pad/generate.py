"""Pad in all four modes; a negative count crops."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((3, 4, 5)).astype(np.float32)
nodes = [
    node("Pad", ["x", "some", "value"], ["constant"], "constant"),
    node("Pad", ["x", "crop"], ["zeros"], "zeros"),
    node("Pad", ["x", "some"], ["edge"], "edge", mode="edge"),
    node("Pad", ["x", "some"], ["reflect"], "reflect", mode="reflect"),
    node("Pad", ["x", "rows", "value", "axes"], ["wrap"], "wrap", mode="wrap"),
]
initializers = {
    "some": np.array([0, 2, 1, 1, 0, 3], np.int64),
    "crop": np.array([0, -1, 2, 0, 1, -2], np.int64),
    "rows": np.array([2, 1], np.int64),
    "axes": np.array([-1], np.int64),
    "value": np.array(0.25, np.float32),
}
some = [(0, 1), (2, 0), (1, 3)]
expected = {
    "constant": np.pad(x, some, constant_values=0.25),
    "zeros": np.pad(x[:, 1:, :-2], [(0, 0), (0, 1), (2, 0)]),
    "edge": np.pad(x, some, mode="edge"),
    "reflect": np.pad(x, some, mode="reflect"),
    "wrap": np.pad(x, [(0, 0), (0, 0), (2, 1)], mode="wrap"),
}
outputs = [Value(name, np.float32, [f"{name}_{axis}" for axis in "abc"]) for name in expected]
inputs = [Value("x", np.float32, ["batch", "sequence", 5])]
proto = model(nodes, inputs, outputs, initializers=initializers, opsets={"": 21})
write_case(__file__, proto, Run({"x": x}, expected))
