"""External data shorter than the tensor."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import external_weight, write_refusal

proto = external_weight("weights.bin")
write_refusal(__file__, proto, ["weight", "weights.bin"], files={"weights.bin": bytes(16)})
