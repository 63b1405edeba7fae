"""Past and present are one buffer: only slot seqlens_k[b] of entry b changes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=7, capacity=12, lengths=[8, 4], rotary=True, in_place=True).write(__file__)
