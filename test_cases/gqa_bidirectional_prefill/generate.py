"""causal = 0: every query sees all keys below seqlens_k[b] + 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, lengths=[5, 3], rotary=True, attributes={"causal": 0}).write(__file__)
