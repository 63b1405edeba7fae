"""Three lengths for two entries."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import loosen, write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
loosen(proto, "seqlens_k")
feeds["seqlens_k"] = np.array([4, 4, 4], np.int32)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "seqlens_k"], feeds=feeds)
