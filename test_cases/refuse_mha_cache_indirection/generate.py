"""cache_indirection is not supported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha
from test_cases.lib.refusal import helper, write_refusal

proto, feeds = Mha(rows=1, keys=1, past=3).parts(__file__)
proto.graph.node[0].input.extend(["", "cache_indirection"])
proto.graph.input.append(helper.make_tensor_value_info("cache_indirection", 6, [2, 1, 4]))
write_refusal(__file__, proto, ["attn", "MultiHeadAttention", "cache_indirection"])
