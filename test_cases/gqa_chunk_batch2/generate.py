"""Three tokens on four cached ones for two batch entries: the same rule as for one entry."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=3,
    past=4,
    rotary=True,
)
call.write(
    __file__,
    reference_only="onnxruntime takes several tokens on a cache for one batch entry only",
)
