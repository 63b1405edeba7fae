"""Values without channels: an empty result."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(rows=3, keys=3, value_size=0)
call.write(__file__, reference_only="onnxruntime refuses it")
