"""Query head h reads KV head h / 4."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=5, heads=12, kv_heads=3).write(__file__)
