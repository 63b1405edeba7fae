"""A K that is no multiple of the block: the last block is padded."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import matmul_nbits_case

matmul_nbits_case(__file__, k=40, zero_points="packed")
