"""With a bias, which is part of the sum."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import skip_norm_case

skip_norm_case(__file__, bias=True, total=True)
