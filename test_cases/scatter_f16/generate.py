"""TensorScatter in f16."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[1, 4, 0], dtype=np.float16)
