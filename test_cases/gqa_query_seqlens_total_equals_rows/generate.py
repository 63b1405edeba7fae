"""query_seqlens: total_sequence_length equal to the query length does not make a first prompt;
entry 1 has two tokens behind it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=4,
    past=2,
    capacity=8,
    total=4,
    lengths=[2, 4],
    query_lengths=[2, 2],
    rotary=True,
)
call.write(__file__)
