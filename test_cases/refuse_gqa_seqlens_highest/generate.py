"""seqlens_k at the highest int32: adding 1 must not wrap."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["seqlens_k"][1] = np.iinfo(np.int32).max
write_refusal(
    __file__,
    proto,
    ["attn", "GroupQueryAttention", "seqlens_k", "2147483647"],
    feeds=feeds,
)
