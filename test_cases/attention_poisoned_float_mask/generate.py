"""NaN in K and V where -inf in a float mask hides them, and in present all the same."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    feeds["attn_mask"][:, 1] = -np.inf
    feeds["past_key"][:, :, 1] = np.nan
    feeds["past_value"][:, :, 1] = np.nan


call = Attention(
    rows=2,
    keys=2,
    past=4,
    mask=("sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
