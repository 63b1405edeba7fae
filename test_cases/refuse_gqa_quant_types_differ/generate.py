"""k_quant_type and v_quant_type differ."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa
from test_cases.lib.refusal import write_refusal

proto, feeds = Gqa(rows=3, cache_bits=8, attributes={"v_quant_type": "PER_CHANNEL"}).parts(__file__)
write_refusal(__file__, proto, ["attn", "GroupQueryAttention", "v_quant_type"])
