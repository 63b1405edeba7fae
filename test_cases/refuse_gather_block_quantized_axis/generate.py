"""quantize_axis other than the last."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

feeds = {
    "data": np.zeros((16, 4, 8), np.uint8),
    "indices": np.zeros(2, np.int64),
    "scales": np.ones((16, 1, 8), np.float32),
}
proto, _ = operator_parts("GatherBlockQuantized", feeds, ("output", np.float32, [2, 4, 8]),
                          domain="com.microsoft", bits=8, block_size=16, quantize_axis=1)
write_refusal(__file__, proto, ["GatherBlockQuantized", "attribute 'quantize_axis'"])
