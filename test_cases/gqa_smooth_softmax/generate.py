"""smooth_softmax = 1 adds exp(0 - maximum) to the denominator of the softmax."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, head_size=8, attributes={"smooth_softmax": 1}).write(__file__)
