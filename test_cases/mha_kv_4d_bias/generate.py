"""K and V with four axes are projected already: only the query's part of the bias applies."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=5, form="4-D", bias=True).write(__file__)
