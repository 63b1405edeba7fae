"""Three tokens on caches of four and one tokens: entry b starts at slot seqlens_k[b] - 2."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=3,
    past=4,
    lengths=[7, 4],
    rotary=True,
    bias=(2, 1),
)
call.write(
    __file__,
    reference_only="onnxruntime takes several tokens on a cache for one batch entry only",
)
