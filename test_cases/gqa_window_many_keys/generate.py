"""A window of 16 over 704 keys: whole blocks of keys come before the first visible one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=703, batch=1, heads=2, kv_heads=1, head_size=8,
    attributes={"local_window_size": 16}).write(__file__)
