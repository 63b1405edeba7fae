"""An int8 cache with one scale per tensor. New rows are quantised (round half to even, clipped)
and attention reads them quantised.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=6,
    lengths=[7, 4],
    rotary=True,
    head_size=32,
    cache_bits=8,
    cache_scale="PER_TENSOR",
    capacity=8,
)
call.write(__file__)
