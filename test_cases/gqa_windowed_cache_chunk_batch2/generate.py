"""sliding_window_cache: three tokens at once for two entries of different length."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=3,
    past=6,
    total=14,
    lengths=[14, 5],
    rotary=True,
    attributes={"local_window_size": 4, "sliding_window_cache": 1},
)
call.write(
    __file__,
    reference_only="onnxruntime takes several tokens on a cache for one batch entry only",
)
