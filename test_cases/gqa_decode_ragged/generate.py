"""Decode with another past length for each entry: entry b writes slot seqlens_k[b], and the
slots after it are zero in present.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=7, batch=3, lengths=[8, 5, 1], rotary=True).write(__file__)
