"""key_padding_mask with three axes is not supported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.mha import Mha
from test_cases.lib.refusal import write_refusal

proto, feeds = Mha(rows=3, keys=5, padding=[[1, 1, 1, 1, 0]] * 2).parts(__file__)
feeds["key_padding_mask"] = np.ones((2, 3, 5), np.int32)
proto.graph.input[3].type.tensor_type.shape.dim.add().dim_value = 5
write_refusal(__file__, proto, ["attn", "MultiHeadAttention", "key_padding_mask"], feeds=feeds)
