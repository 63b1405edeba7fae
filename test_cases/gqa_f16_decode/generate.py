"""f16 decode with a bias, ragged."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=7, lengths=[8, 4], dtype=np.float16, rotary=True, bias=(1, 4)).write(__file__)
