"""An update of no rows leaves the cache as it is, also at the very end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[6, 0, 3], count=0)
