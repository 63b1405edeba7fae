"""Sixteen query heads share a KV head, inputs of three axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=2, keys=5, heads=32, kv_heads=2, head_size=4, value_size=4, three_axes=True).write(__file__)
