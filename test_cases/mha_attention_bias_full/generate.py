"""attention_bias for every entry and head, over a past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=3, attention_bias=(2, 2)).write(__file__)
