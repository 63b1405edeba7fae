"""A row that -inf hides wholly is 0 in Y and in score mode 3."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def hide_row(feeds):
    feeds["attn_mask"][..., 1, :] = -np.inf


call = Attention(
    rows=3,
    keys=5,
    mask=("sequence", "total"),
    mask_type=np.float32,
    mode=3,
)
call.write(__file__, change=hide_row)
