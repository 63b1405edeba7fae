"""Attention 24, four axes, no mask: softmax(Q K^T / sqrt(head_size)) V, query head h on KV head
h / 2.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

Attention(rows=4, keys=6, opset=24).write(__file__)
