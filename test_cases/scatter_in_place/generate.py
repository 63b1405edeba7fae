"""TensorScatter whose past and present are one buffer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[1, 4, 0], in_place=True)
