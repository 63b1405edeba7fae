"""A bool mask and is_causal: a key must pass both."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=4, mask=("sequence", "total"), attributes={"is_causal": 1}).write(__file__)
