"""key_padding_mask of shape (3 * B + 2) is not supported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.mha import Mha
from test_cases.lib.refusal import write_refusal

proto, feeds = Mha(rows=3, keys=5, padding=[5, 2]).parts(__file__)
feeds["key_padding_mask"] = np.arange(8, dtype=np.int32)
proto.graph.input[3].type.tensor_type.shape.dim[0].dim_value = 8
write_refusal(__file__, proto, ["attn", "MultiHeadAttention", "key_padding_mask"], feeds=feeds)
