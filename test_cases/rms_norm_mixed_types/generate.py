"""X in f16 and scale in f32: Y has the type of the scale; computed in f32."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.operators import norm_case

norm_case(
    __file__,
    "RMSNormalization",
    dtype=np.float16,
    scale_type=np.float32,
    reference_only="onnxruntime wants one type",
)
