"""TensorScatter, circular: the rows wrap, and an index may exceed the capacity. More entries
than slots, so that a modulo over the wrong axis shows.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import scatter_case

scatter_case(__file__, indices=[3, 5, 7, 2, 16], batch=5, capacity=4, mode="circular")
