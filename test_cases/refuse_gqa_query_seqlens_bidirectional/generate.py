"""query_seqlens needs causal = 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(
    rows=3,
    past=2,
    capacity=8,
    total=8,
    lengths=[3, 3],
    query_lengths=[2, 1],
    attributes={"causal": 0},
).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "query_seqlens"])
