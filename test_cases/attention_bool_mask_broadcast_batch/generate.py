"""A bool mask of shape (B, 1, S, T), as exporters write it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=6, mask=("batch", 1, "sequence", "total")).write(__file__)
