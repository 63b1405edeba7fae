"""K and V with four axes, (B, N, L, H)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=5, form="4-D").write(__file__)
