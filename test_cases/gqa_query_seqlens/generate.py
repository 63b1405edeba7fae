"""query_seqlens: a chunk of four rows of which 4, 2 and 1 are valid, on caches of 3, 5 and 0
tokens. Rows after the valid ones are 0 and not written.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=4,
    past=7,
    capacity=12,
    total=12,
    batch=3,
    lengths=[7, 7, 1],
    query_lengths=[4, 2, 1],
    rotary=True,
)
call.write(__file__)
