"""A first prompt of six tokens over an empty past: total equals the query length, so row s
stands at position s. Query head h reads KV head h / 2.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=6, head_size=8).write(__file__)
