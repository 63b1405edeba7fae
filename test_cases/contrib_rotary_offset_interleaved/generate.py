"""The one-element form with interleaved pairs on four axes; the last row uses the last row of
the cache.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, offset=12, contrib=True, interleaved=1)
