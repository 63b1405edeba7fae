"""An input that no node reads is fed all the same, with its type and shape."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3)).astype(np.float32)
values = [Value("x", np.float32, ["rows", 3]), Value("unused", np.int64, ["other"])]
proto = model([node("Neg", ["x"], ["y"], "neg")], values, [Value("y", np.float32, ["rows", 3])],
              opsets={"": 21})
write_case(__file__, proto, Run({"x": x, "unused": np.arange(5)}, {"y": -x}))
