"""A mask in int32: neither bool nor the type of Q."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=3, mask=("sequence", "total")).parts(__file__)
proto.graph.input[3].type.tensor_type.elem_type = 6
write_refusal(__file__, proto, ["attn", "Attention", "attn_mask"])
