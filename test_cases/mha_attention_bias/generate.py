"""attention_bias broadcasts over batch and heads."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=5, attention_bias=(1, 1)).write(__file__)
