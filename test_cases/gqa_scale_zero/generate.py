"""A scale of 0 means the default, 1 / sqrt(head_size)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, head_size=8, attributes={"scale": 0.0}).write(__file__)
