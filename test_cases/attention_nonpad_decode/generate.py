"""One query on external caches of one, six and eight valid slots."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=1,
    keys=8,
    batch=3,
    nonpad=[1, 6, 8],
    three_axes=True,
    attributes={"is_causal": 1},
)
call.write(__file__)
