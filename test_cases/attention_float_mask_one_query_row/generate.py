"""A float mask of shape (B, 1, 1, T) broadcasts over the query axis."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=6,
    mask=("batch", 1, 1, "total"),
    mask_type=np.float32,
)
call.write(__file__, reference_only="onnxruntime takes no mask that broadcasts over the query axis")
