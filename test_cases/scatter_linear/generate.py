"""TensorScatter, linear: entry b's rows go to write_indices[b] and the slots after it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[0, 4, 2])
