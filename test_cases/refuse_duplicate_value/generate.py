"""Two nodes that write the same value."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import helper, identity_model, write_refusal

proto = identity_model()
proto.graph.node.append(helper.make_node("Relu", ["x"], ["y"], name="stranger"))
write_refusal(__file__, proto, ["stranger", "y"])
