"""ai.onnx RotaryEmbedding on four axes with gathered, interleaved caches."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, interleaved=1)
