"""FusedMatMul: both operands transposed, the product scaled."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import fused_matmul_case

fused_matmul_case(__file__, (2, 4, 3), (2, 5, 4), transA=1, transB=1, alpha=0.5)
