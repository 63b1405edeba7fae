"""qk_matmul_output_mode 2: -inf in columns that is_causal or nonpad_kv_seqlen hides."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=6,
    mode=2,
    nonpad=[5, 2],
    attributes={"is_causal": 1},
)
call.write(__file__, reference_only="onnxruntime has the lowest float in hidden columns")
