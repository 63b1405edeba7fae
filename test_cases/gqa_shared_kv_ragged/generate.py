"""KV of length zero with another length for each entry: present is past's rows [0, T_b), then
zeros.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=6, shared_kv=True, lengths=[6, 3], rotary=True).write(__file__)
