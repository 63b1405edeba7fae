"""A softcap of 0 or below is off."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=5, attributes={"softcap": -2.0}).write(__file__)
