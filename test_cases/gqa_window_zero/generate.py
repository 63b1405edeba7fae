"""A window of 0 sees nothing: the output is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, head_size=8, attributes={"local_window_size": 0}).write(__file__)
