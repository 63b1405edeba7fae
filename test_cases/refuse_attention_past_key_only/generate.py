"""past_key without past_value."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=2, past=3).parts(__file__)
proto.graph.node[0].input[5] = ""
del proto.graph.input[4]
write_refusal(__file__, proto, ["attn", "Attention", "past_value"])
