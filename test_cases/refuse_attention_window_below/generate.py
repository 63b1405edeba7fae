"""A window size below -1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(
    rows=2,
    keys=3,
    opset=25,
    attributes={"left_window_size": -2},
).parts(__file__)
write_refusal(__file__, proto, ["attn", "Attention", "left_window_size"])
