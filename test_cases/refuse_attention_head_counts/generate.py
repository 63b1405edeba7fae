"""Head-count attributes that disagree with shapes on four axes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.attention import Attention
from test_cases.lib.refusal import write_refusal

proto, feeds = Attention(
    rows=2,
    keys=3,
    attributes={"q_num_heads": 3, "kv_num_heads": 2},
).parts(__file__)
write_refusal(__file__, proto, ["attn", "Attention", "q_num_heads"])
