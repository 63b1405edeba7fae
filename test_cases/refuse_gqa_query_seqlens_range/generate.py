"""query_seqlens above the query length."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(
    rows=3,
    past=4,
    capacity=8,
    total=8,
    lengths=[6, 6],
    query_lengths=[3, 77],
).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "query_seqlens", "77"], feeds=feeds)
