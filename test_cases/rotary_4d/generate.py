"""ai.onnx RotaryEmbedding over (B, N, S, H) with position_ids; a pair is channels i and i + H /
2.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, positions=[[0, 1, 2, 3], [9, 3, 15, 4]])
