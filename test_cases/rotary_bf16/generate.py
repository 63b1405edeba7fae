"""ai.onnx RotaryEmbedding in bf16."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.operators import rotary_case

rotary_case(
    __file__,
    positions=[[0, 1, 2, 3], [9, 3, 15, 4]],
    dtype=ml_dtypes.bfloat16,
    reference_only="onnxruntime has no bf16 kernel on the CPU",
)
