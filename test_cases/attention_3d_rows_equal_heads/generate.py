"""As many rows as heads: (B, S, N * H) taken for (B, N, S, H) has the right shape and no meaning.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=4, heads=4, kv_heads=4, three_axes=True).write(__file__)
