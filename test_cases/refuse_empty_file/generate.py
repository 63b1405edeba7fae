"""A file without content."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.refusal import write_refusal

write_refusal(__file__, b"", ["model.onnx"])
