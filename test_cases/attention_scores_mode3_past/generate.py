"""qk_matmul_output_mode 3 over a past, all four outputs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=2, keys=2, past=3, mode=3, attributes={"is_causal": 1}).write(__file__)
