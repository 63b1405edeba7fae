"""left_window_size 2 keeps the query's own position and two before it; the right side is open."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=5, keys=7, opset=25, attributes={"left_window_size": 2}).write(__file__)
