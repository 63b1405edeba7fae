"""Softcap without a mask."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=6, attributes={"softcap": 0.8}).write(__file__)
