"""Three tokens on a shared, partly filled buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, past=4, batch=1, capacity=10, rotary=True, in_place=True).write(__file__)
