"""A circular index near the end of int64: reduced before anything is added."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[9223372036854775807, 5, 0], mode="circular")
