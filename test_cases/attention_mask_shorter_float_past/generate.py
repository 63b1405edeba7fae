"""A float mask with five columns over a past of four and three new keys: the missing ones are
hidden.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=3,
    past=4,
    mask=("batch", 1, "sequence", 5),
    mask_type=np.float32,
)
call.write(__file__, reference_only="onnxruntime refuses a mask that is shorter than the keys")
