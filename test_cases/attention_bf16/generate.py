"""bf16: computed in f32 with one rounding at the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.attention import Attention

call = Attention(
    rows=4,
    keys=4,
    past=3,
    dtype=ml_dtypes.bfloat16,
    attributes={"is_causal": 1},
)
call.write(__file__, reference_only="onnxruntime has no bf16 kernel on the CPU")
