"""present outputs without a past are K and V with four axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=4, present=True).write(__file__)
