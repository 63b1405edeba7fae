"""position_ids beyond the cos cache."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4, rotary=True, position_ids=[[3], [99]]).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "position_ids", "99"], feeds=feeds)
