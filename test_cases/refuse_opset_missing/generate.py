"""No opset for the default domain."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import identity_model, write_refusal

proto = identity_model()
del proto.opset_import[:]
write_refusal(__file__, proto, ["opset"])
