"""Fewer tokens than query rows on a cache."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, past=4, batch=1).parts(__file__)
feeds["seqlens_k"][0] = 1
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k"], feeds=feeds)
