"""RMSNormalization in bf16."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.operators import norm_case

norm_case(
    __file__,
    "RMSNormalization",
    dtype=ml_dtypes.bfloat16,
    reference_only="onnxruntime has no bf16 kernel on the CPU",
)
