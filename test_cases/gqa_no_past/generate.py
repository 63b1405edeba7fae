"""A prompt without past inputs, as prefill graphs are exported; present is exactly the new K and
V.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=5, past=None, rotary=True, bias=(1, 1)).write(__file__)
