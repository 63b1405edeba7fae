"""A mask whose last axis is 1 is padded too, not broadcast: at most key 0 stays visible."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    mask=("batch", "heads", "sequence", 1),
    mask_type=np.float32,
)
call.write(__file__, reference_only="onnxruntime refuses a mask that is shorter than the keys")
