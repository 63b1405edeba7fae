"""An operator of a domain without importers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import identity_model, write_refusal

proto = identity_model("Frobnicate", "example.org", opsets={"": 21, "example.org": 1})
write_refusal(__file__, proto, ["strange", "example.org", "Frobnicate"])
