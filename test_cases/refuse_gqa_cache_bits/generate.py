"""kv_cache_bit_width must be 4 or 8."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, cache_bits=8, attributes={"kv_cache_bit_width": 5}).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "kv_cache_bit_width"])
