"""TopK with a count that is data, largest and smallest; of equal elements the first comes first."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.integers(-4, 4, (2, 7, 3)).astype(np.float32)
nodes = [
    node("TopK", ["x", "k"], ["largest", "largest_at"], "largest", axis=1),
    node("TopK", ["x", "k"], ["smallest", "smallest_at"], "smallest", axis=-2, largest=0),
]
inputs = [Value("x", np.float32, ["batch", "sequence", 3]), Value("k", np.int64, [1])]
dims = ["batch", "count", 3]
outputs = [Value("largest", np.float32, dims), Value("largest_at", np.int64, dims),
           Value("smallest", np.float32, dims), Value("smallest_at", np.int64, dims)]
proto = model(nodes, inputs, outputs, opsets={"": 21})
runs = []
for k in (1, 4, 7):
    down = np.argsort(-x, 1, kind="stable")[:, :k]
    up = np.argsort(x, 1, kind="stable")[:, :k]
    expected = {
        "largest": np.take_along_axis(x, down, 1),
        "largest_at": down,
        "smallest": np.take_along_axis(x, up, 1),
        "smallest_at": up,
    }
    runs.append(Run({"x": x, "k": np.array([k], np.int64)}, expected))
write_case(__file__, proto, runs)
