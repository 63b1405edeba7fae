"""past_key and past_value of different length."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
loosen(proto, "past_value")
feeds["past_value"] = feeds["past_value"][:, :, :3].copy()
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "past_value"], feeds=feeds)
