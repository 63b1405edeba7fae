"""bf16 decode with a bias, ragged."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=7,
    lengths=[8, 4],
    dtype=ml_dtypes.bfloat16,
    rotary=True,
    bias=(1, 4),
)
call.write(__file__, reference_only="onnxruntime has no bf16 kernel on the CPU")
