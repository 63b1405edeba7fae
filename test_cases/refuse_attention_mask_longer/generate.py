"""A mask with more columns than keys."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Attention(rows=3, keys=5, mask=("sequence", 7)).parts(__file__)
loosen(proto, "attn_mask")
write_refusal(__file__, proto, ["attn", "Attention", "attn_mask"], feeds=feeds)
