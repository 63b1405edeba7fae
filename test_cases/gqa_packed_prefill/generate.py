"""Q, K and V packed in the first input, heads in the order Q, K, V; two batch entries, so that a
wrong batch stride shows.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, packed=True, rotary=True).write(__file__)
