"""MatMulNBits, 4 bits: without zero points 8 is subtracted."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__)
