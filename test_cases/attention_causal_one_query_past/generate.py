"""Causal with one query, three new keys and a past: key j <= past. onnxruntime drops the causal
mask.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=1,
    keys=3,
    past=4,
    attributes={"is_causal": 1},
)
call.write(__file__, reference_only="onnxruntime drops the causal mask for one query over a past")
