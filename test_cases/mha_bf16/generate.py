"""bf16: computed in f32, one rounding at the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.mha import Mha

call = Mha(rows=3, keys=4, dtype=ml_dtypes.bfloat16)
call.write(__file__, reference_only="onnxruntime has no bf16 kernel on the CPU")
