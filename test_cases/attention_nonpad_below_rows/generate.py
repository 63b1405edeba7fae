"""Fewer valid keys than query rows: the offset is negative and the first rows of entry 0 see
nothing, so they are 0.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=6, nonpad=[2, 4], attributes={"is_causal": 1}).write(__file__)
