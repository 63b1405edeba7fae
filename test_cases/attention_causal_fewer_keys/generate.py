"""Causal without a cache and with fewer keys than queries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=6, keys=4, attributes={"is_causal": 1}).write(__file__)
