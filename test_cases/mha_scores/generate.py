"""The fourth output: scaled and biased scores before the softmax."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=5, attention_bias=(1, 2), scores=True).write(__file__)
