"""Only the last three of 130 keys are visible, and other rows see only the first: a running
maximum must survive hidden blocks.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def hide_blocks(feeds):
    feeds["attn_mask"][:] = -np.inf
    feeds["attn_mask"][0, 127:] = 0.5
    feeds["attn_mask"][1, :1] = 0
    feeds["attn_mask"][2, 65:70] = -1


call = Attention(
    rows=3,
    keys=130,
    batch=1,
    heads=1,
    kv_heads=1,
    mask=("sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__, change=hide_blocks)
