"""qk_matmul_output_mode 2 with a float mask over a past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=2,
    past=3,
    mode=2,
    mask=("sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__)
