"""RMSNormalization over the last two axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import norm_case

norm_case(__file__, "RMSNormalization", scale_dims=(3, 8), attributes={"axis": 1, "epsilon": 1e-3})
