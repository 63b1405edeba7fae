"""Two inputs disagree about one symbol of their shapes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["value"] = feeds["value"][:1].copy()
write_refusal(__file__, proto, ["value", "axis 0"], feeds=feeds)
