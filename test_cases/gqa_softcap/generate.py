"""The softcap comes after the scale and before the bias."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=4, past=3, batch=1, bias=(1, 1), attributes={"softcap": 0.7}).write(__file__)
