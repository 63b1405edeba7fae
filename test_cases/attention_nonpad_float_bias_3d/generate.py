"""A whole cache with three axes, nonpad_kv_seqlen and a float bias over all slots, is_causal 0:
the form that exporters of static caches with windows write.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=8,
    nonpad=[6, 3],
    three_axes=True,
    mask=("batch", 1, "sequence", "total"),
    mask_type=np.float32,
)
call.write(__file__)
