"""head_sink with a window, on a cache; smooth_softmax = 1 is given too and loses against it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=7,
    lengths=[8, 3],
    sink=True,
    attributes={"local_window_size": 3, "smooth_softmax": 1},
)
call.write(__file__)
