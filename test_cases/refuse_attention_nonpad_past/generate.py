"""nonpad_kv_seqlen together with past_key."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=2, past=3, nonpad=[2, 2]).parts(__file__)
write_refusal(__file__, proto, ["attn", "Attention", "nonpad_kv_seqlen"])
