"""sliding_window_cache: bias columns are absolute positions, not rows of the buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=6,
    total=12,
    lengths=[12, 12],
    bias=(1, 4),
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
