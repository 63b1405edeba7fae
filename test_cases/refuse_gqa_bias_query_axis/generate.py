"""attention_bias of GroupQueryAttention does not broadcast over the query axis."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Gqa(rows=3, bias=(1, 1)).parts(__file__)
loosen(proto, "attention_bias")
feeds["attention_bias"] = feeds["attention_bias"][:, :, :1].copy()
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "attention_bias"], feeds=feeds)
