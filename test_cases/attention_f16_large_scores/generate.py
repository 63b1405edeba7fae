"""f16 with scores of some thousands, in pairs that differ by about 1: only scores kept in f32
tell them apart.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def enlarge(feeds):
    feeds["Q"] *= np.float16(25)
    feeds["K"] *= np.float16(25)
    feeds["K"][:, :, 1::2] = feeds["K"][:, :, 0::2]
    feeds["K"][:, :, 1::2, 0] += np.float16(0.03)


call = Attention(
    rows=4,
    keys=6,
    dtype=np.float16,
    head_size=64,
    value_size=8,
    attributes={"scale": 1.0},
)
call.write(__file__, change=enlarge, reference_only="onnxruntime rounds scores to f16")
