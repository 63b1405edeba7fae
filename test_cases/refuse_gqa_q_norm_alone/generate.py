"""q_norm_weight without k_norm_weight."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, norm=True).parts(__file__)
proto.graph.node[0].input[15] = ""
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "norm_weight"])
