"""f16 with a past: computed in f32, one rounding at the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=3, dtype=np.float16).write(__file__)
