"""query_seqlens 0: the entry is idle, its cache keeps its rows and its output is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=3,
    past=5,
    capacity=9,
    total=8,
    lengths=[8, 4],
    query_lengths=[3, 0],
    rotary=True,
    attributes={"local_window_size": 3},
)
call.write(__file__)
