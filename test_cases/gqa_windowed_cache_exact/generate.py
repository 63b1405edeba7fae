"""sliding_window_cache with a buffer of exactly the window: one row goes with every token."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=4,
    total=12,
    lengths=[12, 12],
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
