"""Decode: one query, one new key, causal over the past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=1, keys=1, past=6, three_axes=True, attributes={"is_causal": 1}).write(__file__)
