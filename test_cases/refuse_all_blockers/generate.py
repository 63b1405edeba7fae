"""Three faults in one model: one report names all of them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import helper, identity_model, write_refusal

proto = identity_model("Frobnicate")
proto.graph.node.append(helper.make_node("Defrobnicate", ["x"], ["z"], name="stranger"))
proto.graph.node.append(helper.make_node("Relu", ["x"], ["w"], name="strangest", slope=2.0))
for name in "zw":
    proto.graph.output.append(helper.make_tensor_value_info(name, 1, [2, 3]))
texts = ["strange", "Frobnicate", "stranger", "Defrobnicate", "strangest", "slope"]
write_refusal(__file__, proto, texts)
