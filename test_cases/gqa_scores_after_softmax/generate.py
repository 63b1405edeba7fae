"""qk_output = 2: the weights, on a ragged cache; columns at and after seqlens_k[b] + 1 are 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=5,
    lengths=[6, 3],
    scores=True,
    attributes={"qk_output": 2, "local_window_size": 4},
)
call.write(__file__)
