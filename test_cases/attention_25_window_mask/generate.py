"""A window and a bool mask: a key must pass both."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=4,
    keys=6,
    opset=25,
    mask=("batch", "heads", "sequence", "total"),
    attributes={"left_window_size": 2, "right_window_size": 2},
)
call.write(__file__)
