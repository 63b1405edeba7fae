"""Scales and zero points of rank 1, as from GPTQ checkpoints."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, block=32, k=64, zero_points="packed", flat=True)
