"""Score mode 0 is defined for every column: NaN in a hidden K shows there and nowhere else."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    feeds["K"][0, :, 3] = np.nan
    feeds["V"][0, :, 3] = np.nan


call = Attention(
    rows=2,
    keys=5,
    nonpad=[3, 5],
    mode=0,
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
