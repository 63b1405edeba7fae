"""present_key without present_value."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3).parts(__file__)
proto.graph.node[0].output[2] = ""
del proto.graph.output[2]
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "present"])
