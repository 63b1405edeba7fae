"""A window with softcap and score mode 2: -inf where the window hides a key."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=4,
    keys=6,
    opset=25,
    mode=2,
    attributes={"left_window_size": 2, "right_window_size": 1, "softcap": 1.5},
)
call.write(__file__)
