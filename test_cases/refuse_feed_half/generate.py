"""An input fed in f32 where the model has f16: the message names both types."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(rows=2, keys=3, dtype=np.float16).parts(__file__)
feeds["K"] = feeds["K"].astype(np.float32)
write_refusal(__file__, proto, ["K", "float,", "float16"], feeds=feeds)
