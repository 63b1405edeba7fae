"""Causal without a cache and with more keys than queries: the offset is 0, query i sees keys 0
to i (upper left).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=7, attributes={"is_causal": 1}).write(__file__)
