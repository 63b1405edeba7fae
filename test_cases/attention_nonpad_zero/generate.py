"""nonpad_kv_seqlen 0: the whole entry is 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=6, nonpad=[0, 4], mode=3).write(__file__)
