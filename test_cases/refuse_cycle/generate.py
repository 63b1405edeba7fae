"""Two nodes that need each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import helper, identity_model, write_refusal

proto = identity_model("Add")
proto.graph.node[0].input.append("back")
proto.graph.node.append(helper.make_node("Relu", ["y"], ["back"], name="stranger"))
write_refusal(__file__, proto, ["'strange'", "'stranger'", "cycle"])
