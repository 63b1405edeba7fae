"""GatherND of elements, of rows, and with a batch axis."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((3, 4, 5)).astype(np.float32)
points = np.array([[0, 1, 2], [-1, -4, 4]], np.int64)
rows = np.array([[[2, 3]], [[-3, 0]]], np.int64)
batched = rng.integers(-4, 4, (3, 2, 1))
nodes = [
    node("GatherND", ["x", "points"], ["y"], "points"),
    node("GatherND", ["x", "rows"], ["z"], "rows"),
    node("GatherND", ["x", "batched"], ["w"], "batched", batch_dims=1),
]
inputs = [
    Value("x", np.float32, ["batch", "sequence", 5]),
    Value("points", np.int64, ["count", 3]),
    Value("rows", np.int64, ["outer", 1, 2]),
    Value("batched", np.int64, ["batch", "picked", 1]),
]
outputs = [
    Value("y", np.float32, ["count"]),
    Value("z", np.float32, ["outer", 1, 5]),
    Value("w", np.float32, ["batch", "picked", 5]),
]
proto = model(nodes, inputs, outputs, opsets={"": 21})
expected = {
    "y": x[tuple(points.T)],
    "z": x[rows[..., 0], rows[..., 1]],
    "w": np.take_along_axis(x, batched, 1),
}
feeds = {"x": x, "points": points, "rows": rows, "batched": batched}
write_case(__file__, proto, Run(feeds, expected))
