"""qk_output = 1: scaled, softcapped and biased logits; 0 (not -inf) where the mask hides the
key.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, bias=(1, 4), scores=True, attributes={"qk_output": 1, "softcap": 1.5}).write(__file__)
