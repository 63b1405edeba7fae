"""A right-padded first prompt under a window: a padding row s sees the keys (s - 2, 3), so row 5
of entry 1 sees nothing and is 0.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=6, lengths=[6, 3], rotary=True, attributes={"local_window_size": 2}).write(__file__)
