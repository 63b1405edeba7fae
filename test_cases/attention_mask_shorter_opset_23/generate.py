"""A shorter mask in opset 23, where the text is silent: hidden as well."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=7,
    opset=23,
    mask=("sequence", 4),
)
call.write(__file__, reference_only="onnxruntime refuses a mask that is shorter than the keys")
