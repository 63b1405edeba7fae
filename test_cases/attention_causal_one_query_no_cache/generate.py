"""Causal with one query and no cache: only key 0 is visible."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=1, keys=5, attributes={"is_causal": 1}).write(__file__)
