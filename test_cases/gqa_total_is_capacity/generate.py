"""total_sequence_length is the capacity of the buffer while fewer tokens exist, as static-cache
exports feed it; the bias has one column for every slot.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=4, capacity=10, total=10, lengths=[5, 5], bias=(1, 1), rotary=True).write(__file__)
