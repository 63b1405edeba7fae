"""A row that padding hides wholly is 0; V is not touched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

call = Mha(rows=3, keys=4, padding=[0, 3])
call.write(__file__, reference_only="onnxruntime keeps the row alive with a finite filler")
