"""causal must be 0 or 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, attributes={"causal": 2}).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "causal"])
