"""qk_matmul_output_mode 3: the weights, 0 in hidden columns."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=5,
    mode=3,
    mask=("batch", "heads", "sequence", "total"),
    attributes={"softcap": 1.5},
)
call.write(__file__)
