"""Packed QKV on a cache."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=6, packed=True, rotary=True).write(__file__)
