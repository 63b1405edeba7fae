"""A model file that ends in the middle."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import identity_model, write_refusal

data = identity_model().SerializeToString(deterministic=True)
write_refusal(__file__, data[: len(data) // 2], ["model.onnx"])
