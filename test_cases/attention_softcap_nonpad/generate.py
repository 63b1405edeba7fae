"""The softcap comes before the valid length: large values behind it stay hidden."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.attention import Attention


def enlarge(feeds):
    feeds["V"][0, :, 5:] = 1000


call = Attention(rows=4, keys=8, nonpad=[5, 8], attributes={"softcap": 0.5})
call.write(__file__, change=enlarge)
