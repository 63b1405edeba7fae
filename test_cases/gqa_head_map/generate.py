"""Twelve query heads on three KV heads: query head h reads KV head h / 4, not h modulo 3."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=5, heads=12, kv_heads=3, head_size=8).write(__file__)
