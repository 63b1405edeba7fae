"""8 bits with zero points."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, bits=8, block=32, k=64, zero_points="packed", tolerance=(1e-3, 1e-4))
