"""GatherElements along the last and along the first axis, with indices counted from the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((3, 4, 5)).astype(np.float32)
last = rng.integers(-5, 5, (3, 2, 7))
first = rng.integers(-3, 3, (2, 4, 5)).astype(np.int32)
nodes = [
    node("GatherElements", ["x", "last"], ["y"], "last", axis=-1),
    node("GatherElements", ["x", "first"], ["z"], "first"),
]
inputs = [
    Value("x", np.float32, ["batch", "rows", 5]),
    Value("last", np.int64, ["batch", "some", "picked"]),
    Value("first", np.int32, ["few", "rows", 5]),
]
outputs = [
    Value("y", np.float32, ["batch", "some", "picked"]),
    Value("z", np.float32, ["few", "rows", 5]),
]
proto = model(nodes, inputs, outputs, opsets={"": 21})
expected = {
    "y": np.take_along_axis(x[:, :2], last, -1),
    "z": np.take_along_axis(x, first.astype(np.int64), 0),
}
write_case(__file__, proto, Run({"x": x, "last": last, "first": first}, expected))
