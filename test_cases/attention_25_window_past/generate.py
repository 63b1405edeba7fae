"""A window over a past: it stands around i + past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=3,
    past=5,
    opset=25,
    attributes={"left_window_size": 2, "right_window_size": 0},
)
call.write(__file__)
