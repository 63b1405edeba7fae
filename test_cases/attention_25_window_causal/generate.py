"""is_causal cuts the right side of a window."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=5,
    keys=5,
    opset=25,
    attributes={"left_window_size": 1, "right_window_size": 3, "is_causal": 1},
)
call.write(__file__)
