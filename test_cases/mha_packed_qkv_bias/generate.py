"""Packed QKV with a projection bias."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

call = Mha(rows=4, keys=4, form="packed", bias=True)
call.write(__file__, reference_only="onnxruntime has no packed forms on the CPU")
