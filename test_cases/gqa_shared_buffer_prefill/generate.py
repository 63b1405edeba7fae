"""Past and present are one buffer of 12 rows: a first prompt ignores what it holds, and rows
after the prompt stay as they were.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, capacity=12, rotary=True, in_place=True).write(__file__)
