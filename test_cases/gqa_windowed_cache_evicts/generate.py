"""sliding_window_cache: the step in which the buffer is full. Nine tokens stand in six rows, the
tenth makes L fall to four.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=6,
    total=10,
    lengths=[10, 10],
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
