"""A scale of 0 is used as given: the mean of V."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    attributes={"scale": 0.0},
)
call.write(__file__, reference_only="onnxruntime refuses a scale of 0 or below")
