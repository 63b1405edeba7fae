"""The fourth output without qk_matmul_output_mode is mode 0, three axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=3, keys=4, three_axes=True, mode=0).write(__file__)
