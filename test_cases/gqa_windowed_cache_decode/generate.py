"""sliding_window_cache, one token: entry 0 has seven tokens behind it (four rows resident),
entry 1 has three.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=6,
    total=8,
    lengths=[8, 4],
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
