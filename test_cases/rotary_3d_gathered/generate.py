"""ai.onnx RotaryEmbedding without position_ids: cos and sin come gathered, (B, S, H / 2)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, three_axes=True)
