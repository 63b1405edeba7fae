"""Attention 23, causal over a past: key j is visible to query i where j <= i + past."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=3, past=4, opset=23, attributes={"is_causal": 1}).write(__file__)
