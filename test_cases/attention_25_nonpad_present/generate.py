"""nonpad_kv_seqlen with present outputs in opset 25 runs as well."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=6,
    opset=25,
    nonpad=[6, 3],
    present="both",
)
call.write(__file__, reference_only="onnxruntime refuses it in opset 25")
