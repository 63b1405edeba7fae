"""External data that leaves the folder after a detour."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import external_weight, write_refusal

proto = external_weight("inner/../../outside.bin")
write_refusal(__file__, proto, ["weight", "inner/../../outside.bin"])
