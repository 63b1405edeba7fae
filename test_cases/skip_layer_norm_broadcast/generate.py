"""A skip of shape (1, sequence, hidden)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import skip_layer_norm_case

skip_layer_norm_case(__file__, skip_shape=(1, 3, 8))
