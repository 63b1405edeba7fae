"""The cos cache has fewer rows than there are tokens."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=30, rotary=True).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "cos_cache"], feeds=feeds)
