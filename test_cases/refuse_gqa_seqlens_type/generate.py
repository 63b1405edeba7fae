"""seqlens_k in int64 instead of int32."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3).parts(__file__)
proto.graph.input[5].type.tensor_type.elem_type = 7
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k"])
