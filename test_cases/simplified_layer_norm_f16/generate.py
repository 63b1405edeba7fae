"""SimplifiedLayerNormalization in f16 with large inputs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.operators import norm_case

norm_case(
    __file__,
    "SimplifiedLayerNormalization",
    dtype=np.float16,
    factor=400,
    attributes={"axis": -1, "epsilon": 1e-6, "stash_type": 1},
)
