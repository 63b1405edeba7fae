"""Operators in their forms of opset 9, where attributes hold what are inputs today."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3, 8)).astype(np.float32)
nodes = [
    node("Slice", ["x"], ["slice"], "slice", axes=[-1, 1], starts=[-5, 0], ends=[1000, -1]),
    node("Pad", ["x"], ["pad"], "pad", pads=[0, 1, -2, 0, 0, 1], mode="constant", value=1.5),
    node("Clip", ["x"], ["clip"], "clip", min=-0.5),
    node("TopK", ["x"], ["values", "indices"], "top_k", k=3),
    node("Dropout", ["x"], ["dropout"], "dropout", ratio=0.25),
    node("ReduceLogSumExp", ["x"], ["log_sum_exp"], "reduce", axes=[-1], keepdims=0),
]
order = np.argsort(-x, axis=-1, kind="stable")[..., :3]
expected = {
    "slice": x[:, :-1, -5:],
    "pad": np.pad(x[..., 2:], ((0, 0), (1, 0), (0, 1)), constant_values=1.5),
    "clip": np.maximum(x, -0.5),
    "values": np.take_along_axis(x, order, -1),
    "indices": order,
    "dropout": x,
    "log_sum_exp": np.log(np.exp(x.astype(np.float64)).sum(-1)),
}
dims = {
    "slice": ["batch", None, 5],
    "pad": ["batch", None, 7],
    "values": ["batch", "sequence", 3],
    "indices": ["batch", "sequence", 3],
    "log_sum_exp": ["batch", "sequence"],
}
shape = ["batch", "sequence", 8]
outputs = [Value(name, np.int64 if name == "indices" else np.float32, dims.get(name, shape))
           for name in expected]
proto = model(nodes, [Value("x", np.float32, shape)], outputs, opsets={"": 9})
write_case(__file__, proto, Run({"x": x}, expected))
