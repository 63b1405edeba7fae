"""A window of 1 is the key of the query itself: the output is V."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, head_size=8, attributes={"local_window_size": 1}).write(__file__)
