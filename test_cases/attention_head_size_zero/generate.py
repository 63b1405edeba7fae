"""Heads without channels: every logit is 0, so each query gets the mean of the values it sees."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(rows=3, keys=3, past=2, head_size=0, attributes={"is_causal": 1, "scale": 0.5})
call.write(__file__, reference_only="onnxruntime refuses it")
