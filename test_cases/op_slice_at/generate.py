"""Slice whose bounds are data: counted from the end, beyond it, backwards, and empty."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((4, 6, 5)).astype(np.float32)
names = ["starts", "ends", "steps"]
nodes = [node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"], "slice")]
inputs = [Value("x", np.float32, ["rows", "columns", 5])]
inputs += [Value(name, np.int64, [2]) for name in names]
outputs = [Value("y", np.float32, ["a", "b", 5])]
axes = np.array([-2, 0], np.int64)
proto = model(nodes, inputs, outputs, initializers={"axes": axes}, opsets={"": 21})
far = np.iinfo(np.int64).max
bounds = [
    ([1, -3], [far, far], [2, 1], x[-3:, 1::2]),
    ([-1, 3], [-far, 0], [-2, -1], x[3:0:-1, ::-2]),
    ([4, 0], [2, 99], [1, 3], x[::3, 4:2]),
]
runs = [
    Run(
        {"x": x} | {name: np.array(v, np.int64) for name, v in zip(names, values)}, {"y": y}
    )
    for *values, y in bounds
]
write_case(__file__, proto, runs)
