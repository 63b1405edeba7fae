"""q_norm_weight and k_norm_weight: a root mean square norm of each head of Q and K before the
rotation.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=5,
    norm=True,
    rotary=True,
    attributes={"qk_norm_epsilon": 1e-5},
)
call.write(__file__, reference_only="onnxruntime has no q_norm_weight and k_norm_weight on the CPU")
