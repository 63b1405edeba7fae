"""V of another float type than Q and K: Y has Q's type."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    dtype=np.float16,
    value_type=np.float32,
)
call.write(__file__, reference_only="onnxruntime refuses it")
