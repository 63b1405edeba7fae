"""QuickGelu with an alpha of its own: x * sigmoid(alpha * x)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.microsoft import activation_case

activation_case(__file__, "QuickGelu", lambda x: x / (1 + np.exp(-1.5 * x)), alpha=1.5)
