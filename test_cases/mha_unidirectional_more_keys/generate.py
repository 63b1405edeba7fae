"""unidirectional = 1 without a past and with more keys than queries: the offset is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

call = Mha(rows=3, keys=5, attributes={"unidirectional": 1})
call.write(__file__, reference_only="onnxruntime shows later keys to the last row")
