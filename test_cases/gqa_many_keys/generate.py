"""More keys than one tile of any kernel holds: 70 cached tokens, 5 new ones, window 33."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

call = Gqa(
    rows=5,
    past=70,
    batch=1,
    heads=2,
    kv_heads=1,
    head_size=8,
    attributes={"local_window_size": 33},
)
call.write(__file__)
