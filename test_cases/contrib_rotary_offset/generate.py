"""com.microsoft RotaryEmbedding with the one-element form of position_ids: row s stands at
offset + s.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.operators import rotary_case

rotary_case(__file__, offset=5, contrib=True, three_axes=True)
