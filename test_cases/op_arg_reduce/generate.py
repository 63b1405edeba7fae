"""ArgMax and ArgMin: either axis kept or dropped, the first or the last of equal elements."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.integers(-3, 3, (2, 3, 9)).astype(np.float32)
n = rng.integers(-3, 3, (2, 3, 9)).astype(np.int32)
nodes = [
    node("ArgMax", ["x"], ["most"], "most", axis=-1),
    node("ArgMax", ["x"], ["most_last"], "most_last", axis=2, keepdims=0, select_last_index=1),
    node("ArgMin", ["x"], ["least"], "least", axis=1, keepdims=0),
    node("ArgMin", ["n"], ["least_i32"], "least_i32", axis=-1, select_last_index=1),
]
dims = ["batch", "sequence", 9]
expected = {
    "most": x.argmax(-1)[..., None],
    "most_last": 8 - x[..., ::-1].argmax(-1),
    "least": x.argmin(1),
    "least_i32": 8 - n[..., ::-1].argmin(-1)[..., None],
}
shapes = {
    "most": ["batch", "sequence", 1],
    "most_last": ["batch", "sequence"],
    "least": ["batch", 9],
    "least_i32": ["batch", "sequence", 1],
}
inputs = [Value("x", np.float32, dims), Value("n", np.int32, dims)]
outputs = [Value(name, np.int64, shape) for name, shape in shapes.items()]
proto = model(nodes, inputs, outputs, opsets={"": 21})
write_case(__file__, proto, Run({"x": x, "n": n}, expected), tolerance=(0, 0))
