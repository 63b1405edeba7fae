"""The present outputs are left out while a past is in use: the past counts all the same."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=5,
    rotary=True,
    present=False,
)
call.write(
    __file__,
    reference_only="onnxruntime reads past the end of K and V here",
    try_onnxruntime=False,
)
