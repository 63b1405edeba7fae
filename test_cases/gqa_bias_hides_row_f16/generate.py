"""A row that the bias hides wholly is 0 in f16 too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa


def hide_row(feeds):
    feeds["attention_bias"][0, 1, 2, :] = -np.inf


call = Gqa(rows=4, bias=(1, 4), head_size=8, dtype=np.float16)
call.write(__file__, change=hide_row, reference_only="onnxruntime gives NaN here")
