"""com.microsoft RotaryEmbedding with rotary_embedding_dim: the first eight of sixteen channels
turn.
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
    head_size=16,
    channels=8,
)
