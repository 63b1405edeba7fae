"""A right-padded first prompt without past inputs: padding rows are rotated at their row number,
like all rows.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=6, past=None, lengths=[6, 3, 1], batch=3, rotary=True).write(__file__)
