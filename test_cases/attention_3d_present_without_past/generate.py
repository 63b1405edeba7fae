"""Present outputs without a past are K and V with four axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=3, three_axes=True, present="both").write(__file__)
