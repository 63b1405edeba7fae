"""A mean that is not 0 stays: this is no LayerNormalization."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import norm_case

norm_case(__file__, "RMSNormalization", mean=3)
