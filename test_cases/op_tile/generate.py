"""Tile with repeats taken from a shape, and with constant ones, zero among them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((2, 3)).astype(np.float32)
n = rng.integers(-9, 9, (4, 3))
nodes = [
    node("Shape", ["n"], ["rows"], "rows", end=1),
    node("Concat", ["rows", "two"], ["repeats"], "repeats", axis=0),
    node("Tile", ["x", "repeats"], ["y"], "tile"),
    node("Tile", ["n", "thrice"], ["z"], "thrice"),
    node("Tile", ["n", "none"], ["w"], "none"),
]
inputs = [Value("x", np.float32, ["batch", 3]), Value("n", np.int64, ["rows", 3])]
outputs = [
    Value("y", np.float32, ["tiled", 6]),
    Value("z", np.int64, ["rows", 9]),
    Value("w", np.int64, [0, 3]),
]
initializers = {
    "two": np.array([2], np.int64),
    "thrice": np.array([1, 3], np.int64),
    "none": np.array([0, 1], np.int64),
}
proto = model(nodes, inputs, outputs, initializers=initializers, opsets={"": 21})
expected = {"y": np.tile(x, (4, 2)), "z": np.tile(n, (1, 3)), "w": n[:0]}
write_case(__file__, proto, Run({"x": x, "n": n}, expected))
