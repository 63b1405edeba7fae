"""f16 with three axes and a float mask of the same type."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    dtype=np.float16,
    three_axes=True,
    mask=("batch", 1, "sequence", "total"),
    mask_type=np.float16,
)
call.write(__file__)
