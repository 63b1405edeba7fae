"""rotary_interleaved = 1: a pair is channels 2i and 2i + 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, past=3, batch=1, rotary=True, interleaved=True).write(__file__)
