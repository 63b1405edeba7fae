"""NaN and infinity in cache slots that hold no token: they reach neither output nor present."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.gqa import Gqa


def poison(feeds):
    for name in ("past_key", "past_value"):
        feeds[name][0, :, 7:] = np.nan
        feeds[name][1, :, 3:] = np.inf


Gqa(rows=1, past=7, capacity=12, lengths=[8, 4], rotary=True).write(__file__, change=poison)
