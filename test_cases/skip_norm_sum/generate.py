"""The fourth output is the sum of both inputs; the second and third stay empty."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import skip_norm_case

skip_norm_case(__file__, total=True)
