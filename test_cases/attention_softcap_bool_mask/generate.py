"""The softcap comes before the mask: hidden keys have V = 1000, which must not show."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention


def mask_large_values(feeds):
    feeds["attn_mask"][..., 4:] = False
    feeds["V"][:, :, 4:] = 1000


call = Attention(
    rows=4,
    keys=6,
    mask=("sequence", "total"),
    attributes={"softcap": 0.5},
)
call.write(__file__, change=mask_large_values)
