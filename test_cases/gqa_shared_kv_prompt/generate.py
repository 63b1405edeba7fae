"""KV of length zero: the layer attends another layer's cache. First prompt (total equals the
query length): query s sees keys [0, s], present is past.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, past=4, shared_kv=True, rotary=True).write(__file__)
