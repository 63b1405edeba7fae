"""query_seqlens with sliding_window_cache: padding rows never enter the buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=4,
    past=6,
    total=12,
    lengths=[12, 5],
    query_lengths=[2, 3],
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
