"""f16 on an int8 cache: K is rounded to f16 after the rotation and before it is quantised."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=6,
    capacity=8,
    lengths=[7, 4],
    dtype=np.float16,
    rotary=True,
    head_size=32,
    cache_bits=8,
)
call.write(__file__)
