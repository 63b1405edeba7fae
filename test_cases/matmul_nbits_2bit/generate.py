"""2 bits with zero points: four codes a byte."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, bits=2, k=48, zero_points="packed")
