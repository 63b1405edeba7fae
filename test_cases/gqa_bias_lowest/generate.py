"""A row whose bias is the lowest float throughout hides nothing: an ordinary softmax, here the
mean of V (scores vanish against the bias).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa


def lower_row(feeds):
    feeds["attention_bias"][0, 1, 2, :] = np.finfo(np.float32).min


call = Gqa(
    rows=4,
    bias=(1, 4),
    head_size=8,
)
call.write(__file__, change=lower_row, reference_only="onnxruntime takes the row for hidden")
