"""An attribute that nobody knows."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import helper, write_refusal

proto, feeds = Gqa(rows=3).parts(__file__)
proto.graph.node[0].attribute.append(helper.make_attribute("frobnication", 1))
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "frobnication"])
