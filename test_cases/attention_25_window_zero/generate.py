"""A window of 0 on both sides: only the query's own position."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=4,
    keys=4,
    opset=25,
    attributes={"left_window_size": 0, "right_window_size": 0},
)
call.write(__file__)
