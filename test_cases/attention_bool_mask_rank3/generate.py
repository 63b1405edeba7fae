"""A bool mask of rank 3, aligned on the right; true keeps a key."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=6, mask=("heads", "sequence", "total")).write(__file__)
