"""A mask of rank 3 whose first axis could be batch or heads: it is heads."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=4,
    batch=4,
    mask=("heads", "sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__)
