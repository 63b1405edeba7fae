"""sliding_window_cache: a first prompt of nine tokens over a buffer of six rows and a window of
4. G = 3 rows go at once, so six rows stay (positions 3 to 8); the prompt itself attends what
it evicts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=9,
    past=6,
    total=9,
    lengths=[9, 9],
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(__file__)
