"""The least length there is: one entry of the batch has the new token alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=1, past=4, lengths=[5, 1], head_size=8).write(__file__)
