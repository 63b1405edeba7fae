"""qk_matmul_output_mode 2: after the softcap and the mask, -inf in hidden columns."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    mode=2,
    mask=("batch", "heads", "sequence", "total"),
    attributes={"softcap": 1.5},
)
call.write(__file__, reference_only="onnxruntime has the lowest float in hidden columns")
