"""Three axes, bool mask (B, 1, S, T), past and is_causal: the form that exporters of growing
caches write.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention

call = Attention(
    rows=2,
    keys=2,
    past=4,
    three_axes=True,
    mask=("batch", 1, "sequence", "total"),
    attributes={"is_causal": 1},
)
call.write(__file__)
