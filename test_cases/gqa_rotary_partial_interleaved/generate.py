"""Partial rotary with interleaved pairs, on a cache."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=4, head_size=32, rotary=True, rotary_channels=16, interleaved=True).write(__file__)
