"""A float mask of rank 4, added after the scale; -inf in it hides a key."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=6,
    mask=("batch", "heads", "sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__)
