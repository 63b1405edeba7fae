"""RMSNormalization over the last axis; the input has a mean of 3, which must not be subtracted."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import norm_case

norm_case(__file__, "RMSNormalization", mean=3)
