"""A mask whose batch axis is 3 for two entries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Attention(rows=3, keys=5, mask=("batch", 1, "sequence", "total")).parts(__file__)
loosen(proto, "attn_mask")
feeds["attn_mask"] = np.ones((3, 1, 3, 5), bool)
write_refusal(__file__, proto, ["attn", "Attention", "attn_mask"], feeds=feeds)
