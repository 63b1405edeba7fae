"""Three tokens on four cached ones under a window of 2 and a bias."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, past=4, batch=1, bias=(1, 4), attributes={"local_window_size": 2}).write(__file__)
