"""A bool mask of rank 1: one entry per key, for all queries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=3,
    keys=6,
    mask=("total",),
)
call.write(__file__, reference_only="onnxruntime takes no mask that broadcasts over the query axis")
