"""f16 inputs of some hundreds: their squares overflow f16, so the sum is kept in f32."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.operators import norm_case

norm_case(__file__, "RMSNormalization", dtype=np.float16, factor=400)
