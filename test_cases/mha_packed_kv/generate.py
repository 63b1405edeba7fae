"""K and V packed as (B, L, N, 2, H)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

call = Mha(rows=3, keys=5, form="packed KV")
call.write(__file__, reference_only="onnxruntime has no packed forms on the CPU")
