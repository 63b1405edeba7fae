"""Ragged decode where bias, window and lengths meet: bias columns are absolute key positions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=7,
    batch=3,
    lengths=[8, 5, 2],
    bias=(3, 4),
    attributes={"local_window_size": 4},
)
call.write(__file__)
