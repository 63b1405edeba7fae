"""An external cache of eight slots, five and eight of them valid."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=8, nonpad=[5, 8]).write(__file__)
