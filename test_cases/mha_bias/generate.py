"""The projection bias: hidden + hidden + v_hidden values, added to Q, K and V."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=4, value_size=4, bias=True).write(__file__)
