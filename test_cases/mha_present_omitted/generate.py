"""A past counts although the present outputs are left out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

call = Mha(rows=2, keys=2, past=3, present=False)
call.write(__file__, reference_only="onnxruntime ignores the past here", try_onnxruntime=False)
