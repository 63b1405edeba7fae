"""unidirectional = 1 over a past: the offset is the past length."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=3, attributes={"unidirectional": 1}).write(__file__)
