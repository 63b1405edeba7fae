"""Reshape whose target is data: 0 copies an axis, -1 is inferred, and allowzero makes 0 a size."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3, 8)).astype(np.float32)
nodes = [
    node("Reshape", ["x", "shape"], ["y"], "reshape"),
    node("Reshape", ["empty", "empty_shape"], ["z"], "reshape_empty", allowzero=1),
]
inputs = [
    Value("x", np.float32, ["batch", "sequence", 8]),
    Value("shape", np.int64, [3]),
    Value("empty", np.float32, ["rows", 4]),
    Value("empty_shape", np.int64, [2]),
]
outputs = [Value("y", np.float32, ["a", "b", "c"]), Value("z", np.float32, ["d", "e"])]
proto = model(nodes, inputs, outputs, opsets={"": 21})
fixed = {"empty": np.zeros((0, 4), np.float32), "empty_shape": np.array([7, 0], np.int64)}
runs = [
    Run(
        {"x": x, "shape": np.array(shape, np.int64)} | fixed,
        {"y": x.reshape(target), "z": np.zeros((7, 0), np.float32)},
    )
    for shape, target in (([0, -1, 4], (2, 6, 4)), ([-1, 0, 2], (8, 3, 2)))
]
write_case(__file__, proto, runs)
