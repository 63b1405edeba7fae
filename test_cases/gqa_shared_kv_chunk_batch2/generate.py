"""KV of length zero, two queries on a longer cache for two entries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=2,
    past=6,
    shared_kv=True,
    lengths=[6, 4],
    rotary=True,
)
call.write(
    __file__,
    reference_only="onnxruntime takes several tokens on a cache for one batch entry only",
)
