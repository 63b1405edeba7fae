"""Operators in their forms of opset 11: axes as attributes, Softmax over all axes from one on."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3, 8)).astype(np.float32)
nodes = [
    node("Softmax", ["x"], ["softmax"], "softmax", axis=1),
    node("LogSoftmax", ["x"], ["log_softmax"], "log_softmax", axis=0),
    node("Unsqueeze", ["x"], ["unsqueezed"], "unsqueeze", axes=[0, -1]),
    node("Squeeze", ["unsqueezed"], ["squeezed"], "squeeze", axes=[-1, 0]),
    node("Split", ["x"], ["part_0", "part_1"], "split", axis=-1, split=[3, 5]),
    node("Split", ["x"], ["half_0", "half_1"], "halve", axis=-1),
    node("ReduceSum", ["x"], ["sum"], "sum", axes=[1], keepdims=0),
    node("ReduceMean", ["x"], ["mean"], "mean"),
]
exact = x.astype(np.float64)
powers = np.exp(exact)
expected = {
    "softmax": powers / powers.sum((1, 2), keepdims=True),
    "log_softmax": exact - np.log(powers.sum()),
    "unsqueezed": x[None, ..., None],
    "squeezed": x,
    "part_0": x[..., :3],
    "part_1": x[..., 3:],
    "half_0": x[..., :4],
    "half_1": x[..., 4:],
    "sum": exact.sum(1),
    "mean": exact.mean(keepdims=True),
}
shape = ["batch", "sequence", 8]
dims = {
    "unsqueezed": [1, *shape, 1],
    "sum": ["batch", 8],
    "mean": [1, 1, 1],
    "part_0": [*shape[:2], 3],
    "part_1": [*shape[:2], 5],
    "half_0": [*shape[:2], 4],
    "half_1": [*shape[:2], 4],
}
outputs = [Value(name, np.float32, dims.get(name, shape)) for name in expected]
proto = model(nodes, [Value("x", np.float32, shape)], outputs, opsets={"": 11})
write_case(__file__, proto, Run({"x": x}, expected))
