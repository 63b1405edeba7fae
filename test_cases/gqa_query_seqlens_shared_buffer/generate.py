"""query_seqlens with past and present in one buffer: slots at and after seqlens_k[b] + 1 stay as
they were.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=4,
    past=4,
    capacity=10,
    total=10,
    lengths=[6, 5],
    query_lengths=[2, 4],
    rotary=True,
    in_place=True,
)
call.write(__file__)
