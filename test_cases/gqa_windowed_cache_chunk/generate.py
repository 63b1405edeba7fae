"""sliding_window_cache: five tokens at once on a full buffer leave what the same tokens leave
one by one.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=5,
    past=6,
    total=14,
    lengths=[14],
    batch=1,
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
