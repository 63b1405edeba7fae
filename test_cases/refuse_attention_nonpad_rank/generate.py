"""nonpad_kv_seqlen of shape (B, 1)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=6, nonpad=[6, 3]).parts(__file__)
feeds["nonpad_kv_seqlen"] = feeds["nonpad_kv_seqlen"].reshape(2, 1)
proto.graph.input[3].type.tensor_type.shape.dim.add().dim_value = 1
write_refusal(__file__, proto, ["attn", "Attention", "nonpad_kv_seqlen"], feeds=feeds)
