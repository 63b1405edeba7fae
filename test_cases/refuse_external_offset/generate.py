"""An external offset past the end of the file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import external_weight, write_refusal

proto = external_weight("weights.bin", offset=4096, length=24)
write_refusal(__file__, proto, ["weight", "weights.bin"], files={"weights.bin": bytes(24)})
