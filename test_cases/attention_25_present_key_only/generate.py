"""A single present output."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=2,
    past=3,
    opset=25,
    present="key",
)
call.write(__file__, reference_only="onnxruntime refuses it in opset 25")
