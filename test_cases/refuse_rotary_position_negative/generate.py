"""A negative position."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

caches = np.ones((8, 4), np.float32)
feeds = {
    "X": np.ones((1, 2, 3, 8), np.float32),
    "cos_cache": caches,
    "sin_cache": caches,
    "position_ids": np.array([[0, -1, 2]], np.int64),
}
output = ("Y", np.float32, [1, 2, 3, 8])
proto, feeds = operator_parts("RotaryEmbedding", feeds, output, opset=23)
write_refusal(__file__, proto, ["node", "RotaryEmbedding", "position_ids", "-1"], feeds=feeds)
