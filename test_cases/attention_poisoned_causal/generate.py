"""NaN in the last key and value, which only the last row sees: the rows before it are clean."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    feeds["K"][:, :, 3] = np.nan
    feeds["V"][:, :, 3] = np.nan


call = Attention(
    rows=4,
    keys=4,
    attributes={"is_causal": 1},
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
