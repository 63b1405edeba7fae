"""f16: computed in f32 with one rounding at the end; rotated K is rounded when it enters the
cache.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa

Gqa(rows=5, dtype=np.float16, rotary=True).write(__file__)
