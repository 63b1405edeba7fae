"""An input with a default that is fed: the feed counts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3)).astype(np.float32)
bias, fed = np.array([1, 2, 3], np.float32), np.array([-5, 0, 5], np.float32)
values = [Value("x", np.float32, ["rows", 3]), Value("bias", np.float32, [3])]
proto = model([node("Add", ["x", "bias"], ["y"], "add")], values,
              [Value("y", np.float32, ["rows", 3])], initializers={"bias": bias}, opsets={"": 21})
write_case(__file__, proto, Run({"x": x, "bias": fed}, {"y": x + fed}))
