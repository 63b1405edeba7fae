"""Six query heads on one KV head, four axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=5, heads=6, kv_heads=1).write(__file__)
