"""f16 A and scales."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, dtype=np.float16, tolerance=(2e-2, 4e-3))
