"""key_padding_mask of shape (B, T): its columns count the past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=2, keys=2, past=3, padding=[[0, 1, 1, 1, 1], [1, 1, 0, 1, 0]]).write(__file__)
