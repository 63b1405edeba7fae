"""NaN and infinity in K and V at and after nonpad_kv_seqlen: not read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    for name in ("K", "V"):
        feeds[name][0, :, 5:] = np.nan
        feeds[name][1, :, 3:] = np.inf


call = Attention(
    rows=2,
    keys=8,
    nonpad=[5, 3],
    attributes={"is_causal": 1},
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
