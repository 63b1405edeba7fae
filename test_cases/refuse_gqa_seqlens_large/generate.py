"""seqlens_k beyond the buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["seqlens_k"][1] = 99
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k", "99"], feeds=feeds)
