"""Attention is not in opset 22."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=3).parts(__file__)
proto.opset_import[0].version = 22
write_refusal(__file__, proto, ["attn", "Attention", "22"])
