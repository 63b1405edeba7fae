"""External data at an absolute path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import external_weight, write_refusal

proto = external_weight("/outside.bin", offset=0, length=24)
write_refusal(__file__, proto, ["weight", "/outside.bin"])
