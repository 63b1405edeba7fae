"""An external cache and is_causal: the offset is nonpad - S for each entry."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=8, nonpad=[5, 8], attributes={"is_causal": 1}).write(__file__)
