"""On a cache position_ids are read as they stand; the mask goes on counting slots."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=5, rotary=True, position_ids=[[3], [11]]).write(__file__)
