"""softmax_precision 10 (f16): computed in f32 all the same."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=5, attributes={"softmax_precision": 10}).write(__file__)
