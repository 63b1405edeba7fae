"""An input of the model that is not fed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
del feeds["past_key"]
write_refusal(__file__, proto, ["past_key"], feeds=feeds)
