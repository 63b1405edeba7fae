"""left_window_size belongs to opset 25; opset 24 does not have it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=3, attributes={"left_window_size": 2}).parts(__file__)
write_refusal(__file__, proto, ["attn", "Attention", "left_window_size"])
