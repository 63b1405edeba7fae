"""A past without rows, as the first step of a decoder feeds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 3)).astype(np.float32)
values = [Value("past", np.float32, ["past", 3]), Value("x", np.float32, ["rows", 3])]
proto = model([node("Concat", ["past", "x"], ["present"], "concat", axis=0)], values,
              [Value("present", np.float32, ["past + rows", 3])], opsets={"": 21})
write_case(__file__, proto, Run({"past": np.zeros((0, 3), np.float32), "x": x}, {"present": x}))
