"""causal = 0 on a cache with a bias."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=5, bias=(2, 4), attributes={"causal": 0}).write(__file__)
