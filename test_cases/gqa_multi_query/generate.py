"""Six query heads on one KV head."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, past=None, heads=6, kv_heads=1, head_size=8).write(__file__)
