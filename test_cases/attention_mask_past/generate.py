"""A float mask over a past: its columns count the past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=3,
    past=4,
    mask=("batch", 1, "sequence", "total"),
    mask_type=np.float32,
    attributes={"is_causal": 1},
)
call.write(__file__)
