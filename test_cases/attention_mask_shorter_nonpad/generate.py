"""A mask shorter than the largest nonpad_kv_seqlen hides keys that nonpad_kv_seqlen would show."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=8,
    nonpad=[7, 4],
    mask=("sequence", 5),
    mask_type=np.float32,
)
call.write(__file__, reference_only="onnxruntime refuses a mask that is shorter than the keys")
