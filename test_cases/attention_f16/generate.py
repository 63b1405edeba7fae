"""f16: scores in f32, one rounding at the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

Attention(rows=4, keys=4, past=3, dtype=np.float16, attributes={"is_causal": 1}).write(__file__)
