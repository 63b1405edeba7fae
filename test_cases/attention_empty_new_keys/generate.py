"""No new keys over a past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=2, keys=0, past=4).write(__file__, reference_only="onnxruntime refuses empty inputs")
