"""A past of length 0, the first step of a growing cache."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=3, past=0, attributes={"is_causal": 1}).write(__file__)
