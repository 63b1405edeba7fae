"""A batch of 0 gives empty results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=1,
    past=3,
    batch=0,
)
call.write(__file__, reference_only="onnxruntime dies", try_onnxruntime=False)
