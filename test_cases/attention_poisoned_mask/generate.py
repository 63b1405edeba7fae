"""NaN in K and V where a bool mask hides them from every row."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    feeds["attn_mask"][:, 2] = False
    feeds["K"][:, :, 2] = np.nan
    feeds["V"][:, :, 2] = np.nan


call = Attention(
    rows=3,
    keys=6,
    mask=("sequence", "total"),
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
