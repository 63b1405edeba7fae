"""seqlens_k of shape (B, 1), as graphs with keepdims = 1 produce it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=5, lengths=[6, 3], seqlens_axes=2, rotary=True).write(__file__)
