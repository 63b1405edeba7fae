"""f16 scores beyond 65504: a product of 512 channels is not held in f16 before it is scaled."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def enlarge(feeds):
    """Every product is near 14 * 14 * 512; keys differ by a little."""
    for name in ("Q", "K"):
        small = feeds[name].astype(np.float32)
        feeds[name] = (14 + 0.02 * small).astype(np.float16)


call = Attention(rows=3, keys=4, batch=1, heads=2, kv_heads=1, dtype=np.float16, head_size=512,
                 attributes={"is_causal": 1, "scale": 1.0})
call.write(__file__, change=enlarge, reference_only="onnxruntime holds the scores in f16")
