"""A window over an external cache: it stands around i + nonpad - S, and one with a negative
position sees only what is right of it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=8,
    nonpad=[7, 1],
    opset=25,
    attributes={"left_window_size": 1, "right_window_size": 1},
)
call.write(__file__)
