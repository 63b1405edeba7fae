"""Packed zero points; three blocks, so that a row of them ends in half a byte."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, k=48, zero_points="packed")
