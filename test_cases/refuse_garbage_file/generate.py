"""A file that is no model."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import write_refusal

write_refusal(__file__, b"this is not a model\n" * 20, ["model.onnx"])
