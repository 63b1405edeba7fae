"""A graph output that nothing writes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import helper, identity_model, write_refusal

proto = identity_model()
proto.graph.output.append(helper.make_tensor_value_info("absent", 1, [2]))
write_refusal(__file__, proto, ["absent"])
