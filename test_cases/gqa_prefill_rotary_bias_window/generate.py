"""A first prompt of six tokens over an empty past: total equals the query length, so row s
stands at position s. Query head h reads KV head h / 2. Q and K are rotated at their positions
before K enters the cache; past K is not rotated again. The bias broadcasts over the heads and
is added after the scale. A window of 3 keeps the key of the query itself and the two before
it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=6, rotary=True, bias=(2, 1), attributes={"local_window_size": 3}).write(__file__)
