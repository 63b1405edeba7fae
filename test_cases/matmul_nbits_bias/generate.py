"""A bias of N elements."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, bias=True)
