"""cos_cache and sin_cache come as graph inputs, as where a graph computes them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=4, rotary=True).write(__file__, weights=())
