"""ScatterND of elements and of rows, with each reduction; indices may count from the end and,
where they are reduced, repeat.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((3, 4, 5)).astype(np.float32)
rows = np.array([[2, 3], [-3, 0], [2, 3]], np.int64)
updates = rng.standard_normal((3, 5)).astype(np.float32)
points = np.array([[0, 1, 2], [-1, -4, 4]], np.int64)
values = rng.standard_normal(2).astype(np.float32)
functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
nodes = [node("ScatterND", ["x", "points", "values"], ["none"], "none")]
nodes += [
    node("ScatterND", ["x", "rows", "updates"], [name], name, reduction=name) for name in functions
]
dims = ["batch", "sequence", 5]
inputs = [
    Value("x", np.float32, dims),
    Value("rows", np.int64, ["count", 2]),
    Value("updates", np.float32, ["count", 5]),
    Value("points", np.int64, ["few", 3]),
    Value("values", np.float32, ["few"]),
]
expected = {"none": x.copy()}
expected["none"][tuple(points.T)] = values
for name, function in functions.items():
    expected[name] = x.copy()
    for row, update in zip(rows, updates):
        expected[name][tuple(row)] = function(expected[name][tuple(row)], update)
outputs = [Value(name, np.float32, dims) for name in expected]
proto = model(nodes, inputs, outputs, opsets={"": 21})
feeds = {"x": x, "rows": rows, "updates": updates, "points": points, "values": values}
write_case(__file__, proto, Run(feeds, expected))
