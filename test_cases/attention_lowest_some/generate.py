"""The lowest float as a finite filler, as exporters write masks: hidden in effect, next to
visible keys.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def lower_some(feeds):
    feeds["attn_mask"][:] = 0
    feeds["attn_mask"][:, 3:] = np.finfo(np.float32).min


call = Attention(
    rows=3,
    keys=5,
    mask=("sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__, change=lower_some)
