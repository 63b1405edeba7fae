"""An initializer whose number of elements overflows 64 bits."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import external_weight, write_refusal

proto = external_weight("unused")
weight = proto.graph.initializer[0]
weight.ClearField("external_data")
weight.data_location = 0
weight.dims[:] = [2**33, 2**33]
weight.raw_data = bytes(24)
write_refusal(__file__, proto, ["weight"])
