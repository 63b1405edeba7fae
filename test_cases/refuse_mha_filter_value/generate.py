"""mask_filter_value other than the default."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.mha import Mha
from test_cases.lib.refusal import write_refusal

proto, feeds = Mha(
    rows=2,
    keys=3,
    padding=[2, 3],
    attributes={"mask_filter_value": -5.0},
).parts(__file__)
write_refusal(__file__, proto, ["attn", "MultiHeadAttention", "mask_filter_value"])
