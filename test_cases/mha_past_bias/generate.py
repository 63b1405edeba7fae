"""A projection bias applies to new K and V only, and present holds the result."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=3, bias=True).write(__file__)
