"""Packed QKV without rotary, as layers without position embedding are exported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, packed=True, head_size=8).write(__file__)
