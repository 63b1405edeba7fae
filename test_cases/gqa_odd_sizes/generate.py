"""A head of 10 channels of which 6 turn, and more heads than rows."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=2,
    past=3,
    lengths=[5, 4],
    heads=6,
    kv_heads=3,
    head_size=10,
    rotary=True,
    rotary_channels=6,
)
call.write(__file__, reference_only="onnxruntime wants multiples of 8 and 16")
