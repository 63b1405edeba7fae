"""The one-element form: offset + S - 1 is beyond the cache though the offset is inside."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

caches = np.ones((8, 4), np.float32)
feeds = {
    "X": np.ones((1, 2, 3, 8), np.float32),
    "position_ids": np.array([6], np.int64),
    "cos_cache": caches,
    "sin_cache": caches,
}
output = ("Y", np.float32, [1, 2, 3, 8])
proto, feeds = operator_parts("RotaryEmbedding", feeds, output, domain="com.microsoft")
write_refusal(__file__, proto, ["node", "RotaryEmbedding", "position_ids"], feeds=feeds)
