"""The present outputs are left out on a first prompt."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, past=None, rotary=True, present=False).write(__file__)
