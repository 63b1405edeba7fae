"""Three axes with a past: past and present have four axes all the same."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=2, keys=2, past=3, three_axes=True, attributes={"is_causal": 1}).write(__file__)
