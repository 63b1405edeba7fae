"""No keys at all: every row is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=0).write(__file__, reference_only="onnxruntime refuses empty inputs")
