"""No query rows: Y is empty, present is K and V."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=0, keys=3, past=2).write(__file__, reference_only="onnxruntime refuses empty inputs")
