"""On a first prompt only element [0][0] of position_ids counts: row s stands at 2 + s in every
entry, whatever the other elements say.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, rotary=True, position_ids=[[2, 9, 9, 9], [5, 0, 1, 1]]).write(__file__)
