"""FusedMatMul: transBatchA and transBatchB move axis 0 behind the batch axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import fused_matmul_case

fused_matmul_case(__file__, (3, 2, 4), (4, 2, 5), transBatchA=1, transBatchB=1)
