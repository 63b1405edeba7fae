"""A past buffer of 12 rows of which seven are in use: present keeps 12 rows, and those after the
last written one are zero although past holds numbers there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=7, capacity=12, rotary=True).write(__file__)
