"""GroupQueryAttention without an opset import of com.microsoft."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, _ = Gqa(rows=3).parts(__file__)
del proto.opset_import[1]
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "com.microsoft"])
