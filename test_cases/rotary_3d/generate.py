"""ai.onnx RotaryEmbedding over (B, S, N * H) with num_heads."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, positions=[[0, 1, 2, 3], [9, 3, 15, 4]], three_axes=True)
