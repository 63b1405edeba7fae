"""A row that only is_causal and the mask together hide is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention


def hide_past(feeds):
    feeds["attn_mask"][1] = [False, False, True, True]


call = Attention(
    rows=4,
    keys=4,
    mask=("sequence", "total"),
    attributes={"is_causal": 1},
)
call.write(__file__, change=hide_past)
