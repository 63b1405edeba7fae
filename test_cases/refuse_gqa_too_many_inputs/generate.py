"""An eighteenth input."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import helper, write_refusal

proto, feeds = Gqa(rows=3).parts(__file__)
inputs = proto.graph.node[0].input
inputs.extend([""] * (17 - len(inputs)) + ["extra"])
proto.graph.input.append(helper.make_tensor_value_info("extra", 1, [1]))
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "extra"])
