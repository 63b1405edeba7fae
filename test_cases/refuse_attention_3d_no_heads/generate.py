"""Three axes without head counts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=3, three_axes=True).parts(__file__)
del proto.graph.node[0].attribute[:]
write_refusal(__file__, proto, ["attn", "Attention", "q_num_heads"])
