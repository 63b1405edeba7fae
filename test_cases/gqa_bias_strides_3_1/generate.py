"""Three entries, one bias per entry: the strides of what is broadcast are 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=3, batch=3, bias=(3, 1), head_size=8).write(__file__)
