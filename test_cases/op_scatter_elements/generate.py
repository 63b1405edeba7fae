"""ScatterElements along the last and along the first axis, with each reduction."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((3, 5)).astype(np.float32)
distinct = np.array([[0, 4, -2], [-5, 1, 2]], np.int64)
repeated = np.array([[0, -1, 1, 2, 0], [0, 2, -3, 2, 1]], np.int64)
updates = rng.standard_normal((2, 3)).astype(np.float32)
more = rng.standard_normal((2, 5)).astype(np.float32)
functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
nodes = [node("ScatterElements", ["x", "distinct", "updates"], ["none"], "none", axis=-1)]
nodes += [
    node("ScatterElements", ["x", "repeated", "more"], [name], name, reduction=name)
    for name in functions
]
inputs = [
    Value("x", np.float32, ["rows", 5]),
    Value("distinct", np.int64, ["few", "some"]),
    Value("updates", np.float32, ["few", "some"]),
    Value("repeated", np.int64, ["few", 5]),
    Value("more", np.float32, ["few", 5]),
]
expected = {"none": x.copy()}
np.put_along_axis(expected["none"][:2], distinct % 5, updates, 1)
for name, function in functions.items():
    expected[name] = x.copy()
    for (i, j), row in np.ndenumerate(repeated):
        expected[name][row, j] = function(expected[name][row, j], more[i, j])
outputs = [Value(name, np.float32, ["rows", 5]) for name in expected]
proto = model(nodes, inputs, outputs, opsets={"": 21})
feeds = {"x": x, "distinct": distinct, "updates": updates, "repeated": repeated, "more": more}
write_case(__file__, proto, Run(feeds, expected))
