"""seqlens_k with two elements per batch entry."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Gqa(rows=1, past=4, seqlens_axes=2).parts(__file__)
loosen(proto, "seqlens_k")
proto.graph.input[5].type.tensor_type.shape.dim[1].dim_param = "columns"
feeds["seqlens_k"] = np.full((2, 2), 4, np.int32)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k"], feeds=feeds)
