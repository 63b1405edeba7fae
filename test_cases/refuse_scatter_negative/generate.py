"""A negative index."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

feeds = {
    "past_cache": np.zeros((2, 2, 5, 4), np.float32),
    "update": np.ones((2, 2, 2, 4), np.float32),
    "write_indices": np.array([-1, 0], np.int64),
}
output = ("present_cache", np.float32, [2, 2, 5, 4])
proto, feeds = operator_parts("TensorScatter", feeds, output, opset=24, mode="linear")
write_refusal(__file__, proto, ["node", "TensorScatter", "write_indices", "-1"], feeds=feeds)
