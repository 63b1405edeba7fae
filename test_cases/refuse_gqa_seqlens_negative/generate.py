"""seqlens_k -1 (an all-zero mask): refused before anything is read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["seqlens_k"][0] = -1
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k", "-1"], feeds=feeds)
