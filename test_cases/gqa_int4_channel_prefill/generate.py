"""An int4 cache with one scale per KV head and channel. New rows are quantised (round half to
even, clipped) and attention reads them quantised, on the first prompt too. Codes are stored
plus 8, the even channel in the low nibble; unused rows of present are zero bytes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, rotary=True, head_size=32, cache_bits=4, cache_scale="PER_CHANNEL").write(__file__)
