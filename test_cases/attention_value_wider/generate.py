"""V wider than K."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=5, past=2, head_size=8, value_size=12).write(__file__)
