"""A scale of its own instead of 1 / sqrt(head_size)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, rotary=True, attributes={"scale": 0.6}).write(__file__)
