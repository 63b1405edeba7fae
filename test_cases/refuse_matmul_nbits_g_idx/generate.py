"""g_idx, which the operator deprecates."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

feeds = {
    "A": np.ones((2, 16), np.float32),
    "B": np.zeros((3, 1, 8), np.uint8),
    "scales": np.ones((3, 1), np.float32),
    "zero_points": None,
    "g_idx": np.zeros(16, np.int32),
}
proto, _ = operator_parts("MatMulNBits", feeds, ("Y", np.float32, [2, 3]), domain="com.microsoft",
                          K=16, N=3, bits=4, block_size=16)
write_refusal(__file__, proto, ["MatMulNBits", "input 'g_idx'"])
