"""key_padding_mask of shape (B, L): zeros hide keys."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=4, padding=[[1, 0, 1, 1], [1, 1, 0, 0]]).write(__file__)
