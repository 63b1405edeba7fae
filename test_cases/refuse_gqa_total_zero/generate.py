"""total_sequence_length 0."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["total_sequence_length"] = np.array(0, np.int32)
write_refusal(
    __file__,
    proto,
    ["attn", "GroupQueryAttention", "total_sequence_length"],
    feeds=feeds,
)
