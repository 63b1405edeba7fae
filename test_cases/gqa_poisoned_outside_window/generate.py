"""NaN in keys and values that the window hides: not read, though kept in present."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa


def poison(feeds):
    for name in ("past_key", "past_value"):
        feeds[name][:, :, 0:4] = np.nan


call = Gqa(
    rows=1,
    past=7,
    attributes={"local_window_size": 3},
)
call.write(__file__, change=poison, reference_only="onnxruntime multiplies hidden values by 0")
