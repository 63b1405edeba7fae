"""past and present with four axes; more new keys than queries is allowed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=4).write(__file__)
