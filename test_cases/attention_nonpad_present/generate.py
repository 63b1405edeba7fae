"""nonpad_kv_seqlen with present outputs: present is the whole K and V."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=2, keys=6, nonpad=[6, 3], present="both").write(__file__)
