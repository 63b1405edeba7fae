"""Three axes: the last one is split into heads, then rows and heads are swapped; as many rows as
heads, so that a forgotten swap fits.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=6, three_axes=True).write(__file__)
