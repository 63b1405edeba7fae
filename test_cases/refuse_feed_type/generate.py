"""An input fed in another type."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=1, past=4).parts(__file__)
feeds["seqlens_k"] = feeds["seqlens_k"].astype(np.int64)
write_refusal(__file__, proto, ["seqlens_k", "int64", "int32"], feeds=feeds)
