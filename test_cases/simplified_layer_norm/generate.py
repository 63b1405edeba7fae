"""SimplifiedLayerNormalization in domain ai.onnx, as exporters write it though no schema has it:
no mean, no bias.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import norm_case

norm_case(
    __file__,
    "SimplifiedLayerNormalization",
    mean=2,
    attributes={"axis": -1, "epsilon": 1e-6, "stash_type": 1},
)
