"""The score output is connected while qk_output is 0: it is all zeros."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=3,
    scores=True,
    head_size=8,
)
call.write(__file__, reference_only="onnxruntime does not write the output", try_onnxruntime=False)
