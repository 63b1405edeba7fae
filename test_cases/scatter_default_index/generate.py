"""TensorScatter without write_indices writes from slot 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__)
