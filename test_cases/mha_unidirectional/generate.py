"""unidirectional = 1: causal."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=5, keys=5, attributes={"unidirectional": 1}).write(__file__)
