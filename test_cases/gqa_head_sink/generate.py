"""head_sink: one logit per head that takes part in the denominator only; without position it is
never masked.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, rotary=True, sink=True).write(__file__)
