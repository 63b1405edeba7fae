"""Three tokens on four cached ones: query s stands at position 4 + s, causal inside the chunk."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, past=4, batch=1, rotary=True).write(__file__)
