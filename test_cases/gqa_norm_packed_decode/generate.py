"""Norm weights with packed QKV on a cache; an epsilon of its own for Q and for K."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=5,
    packed=True,
    norm=True,
    rotary=True,
    attributes={"q_norm_epsilon": 0.01, "k_norm_epsilon": 0.1},
)
call.write(__file__, reference_only="onnxruntime has no q_norm_weight and k_norm_weight on the CPU")
