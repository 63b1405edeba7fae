"""nonpad_kv_seqlen below 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=6, nonpad=[6, -3]).parts(__file__)
write_refusal(__file__, proto, ["attn", "Attention", "nonpad_kv_seqlen", "-3"], feeds=feeds)
