"""A window of two to the left and one to the right."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=5,
    keys=7,
    opset=25,
    attributes={"left_window_size": 2, "right_window_size": 1},
)
call.write(__file__)
