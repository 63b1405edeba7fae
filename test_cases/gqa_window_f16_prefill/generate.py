"""A window of 17 over 40 rows in f16: row i keeps the 17 keys up to i, itself included."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa

Gqa(rows=40, batch=1, dtype=np.float16, attributes={"local_window_size": 17}).write(__file__)
