"""key_padding_mask of shape (B): the number of keys that count."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha

Mha(rows=3, keys=5, padding=[5, 2]).write(__file__)
