"""stash_type other than 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.refusal import operator_parts, write_refusal

feeds = {"X": np.ones((2, 8), np.float32), "scale": np.ones(8, np.float32)}
output = ("Y", np.float32, [2, 8])
proto, _ = operator_parts("RMSNormalization", feeds, output, opset=23, stash_type=10)
write_refusal(__file__, proto, ["node", "RMSNormalization", "stash_type"])
