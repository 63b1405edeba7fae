"""qk_matmul_output_mode 1: after the softcap, for every key, hidden ones too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    mode=1,
    mask=("batch", "heads", "sequence", "total"),
    attributes={"softcap": 1.5},
)
call.write(__file__)
