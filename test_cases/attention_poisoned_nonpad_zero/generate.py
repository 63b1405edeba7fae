"""nonpad_kv_seqlen 0 over NaN: the entry is 0, V is not touched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def poison(feeds):
    feeds["V"][0] = np.nan


call = Attention(
    rows=2,
    keys=4,
    nonpad=[0, 4],
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
