"""Every negative window is off, -2 too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, head_size=8, attributes={"local_window_size": -2}).write(__file__)
