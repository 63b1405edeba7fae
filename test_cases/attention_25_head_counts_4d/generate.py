"""Head counts as attributes on inputs with four axes, agreeing with the shapes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=3,
    opset=25,
    attributes={"q_num_heads": 4, "kv_num_heads": 2},
)
call.write(__file__, reference_only="onnxruntime refuses it in opset 25")
