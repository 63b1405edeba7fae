"""position_ids of three tokens on a cache, in an order of their own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, past=4, batch=1, rotary=True, position_ids=[[9, 0, 4]]).write(__file__)
