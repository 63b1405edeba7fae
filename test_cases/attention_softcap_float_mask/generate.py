"""The softcap comes before a float mask: hidden keys have V = 1000, which must not show."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def mask_large_values(feeds):
    feeds["attn_mask"][..., 4:] = -np.inf
    feeds["V"][:, :, 4:] = 1000


call = Attention(
    rows=4,
    keys=6,
    mask=("sequence", "total"),
    mask_type=np.float32,
    attributes={"softcap": 0.5},
)
call.write(__file__, change=mask_large_values)
