"""An index that is no row, which onnxruntime reads as zeros."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

feeds = {
    "data": np.zeros((4, 16), np.uint8),
    "indices": np.array([1, 4], np.int64),
    "scales": np.ones((4, 1), np.float32),
}
proto, feeds = operator_parts("GatherBlockQuantized", feeds, ("output", np.float32, [2, 16]),
                              domain="com.microsoft", bits=8, block_size=16)
write_refusal(__file__, proto, ["GatherBlockQuantized", "indices", "4", "[-4, 4)"], feeds=feeds)
