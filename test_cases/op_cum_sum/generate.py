"""CumSum along either axis: plain, from the end, without the own element, and in integers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((2, 3, 4)).astype(np.float32)
n = rng.integers(-9, 9, (2, 5))
nodes = [
    node("CumSum", ["x", "middle"], ["plain"], "plain"),
    node("CumSum", ["x", "last"], ["backward"], "backward", reverse=1),
    node("CumSum", ["n", "last"], ["before"], "before", exclusive=1),
    node("CumSum", ["n", "last"], ["after"], "after", exclusive=1, reverse=1),
]
inputs = [
    Value("x", np.float32, ["batch", "sequence", 4]),
    Value("n", np.int64, ["batch", "total"]),
]
outputs = [Value(name, np.float32, ["batch", "sequence", 4]) for name in ("plain", "backward")]
outputs += [Value(name, np.int64, ["batch", "total"]) for name in ("before", "after")]
axes = {"middle": np.array(1, np.int64), "last": np.array(-1, np.int32)}
proto = model(nodes, inputs, outputs, initializers=axes, opsets={"": 21})
expected = {
    "plain": x.cumsum(1),
    "backward": np.flip(np.flip(x, -1).cumsum(-1), -1),
    "before": n.cumsum(1) - n,
    "after": n.sum(1, keepdims=True) - n.cumsum(1),
}
write_case(__file__, proto, Run({"x": x, "n": n}, expected))
