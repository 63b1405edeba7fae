"""One token on seven cached ones: the new row goes to slot 7 and the query stands at position 7.
Query head h reads KV head h / 2. Q and K are rotated at their positions before K enters the
cache; past K is not rotated again. A window of 3 keeps the key of the query itself and the
two before it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=7, rotary=True, attributes={"local_window_size": 3}).write(__file__)
