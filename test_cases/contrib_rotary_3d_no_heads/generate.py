"""com.microsoft RotaryEmbedding over (B, S, N * H) without num_heads: the head size is twice the
width of the cache.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(
    __file__,
    positions=[[0, 1, 2, 3], [9, 3, 15, 4]],
    contrib=True,
    three_axes=True,
    name_heads=False,
)
