"""V narrower than K, three axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    head_size=8,
    value_size=4,
    three_axes=True,
    mask=("sequence", "total"),
)
call.write(__file__)
