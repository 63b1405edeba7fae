"""cos_cache is half as wide as the head: the first 16 of 32 channels turn, the others pass
through.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, head_size=32, rotary=True, rotary_channels=16).write(__file__)
