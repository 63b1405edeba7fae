"""qk_output asks for an output that is not connected."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, attributes={"qk_output": 1}).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "qk_output"])
