"""A row whose float mask is the lowest float throughout hides nothing: an ordinary softmax."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def lower_row(feeds):
    feeds["attn_mask"][1, :] = np.finfo(np.float32).min


call = Attention(
    rows=3,
    keys=5,
    mask=("sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__, change=lower_row, reference_only="onnxruntime takes the row for hidden")
