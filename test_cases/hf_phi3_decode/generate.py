"""Phi-3, as transformers 5.24's exporter writes it with opset 24: decode.onnx less its metadata.
The model is committed as exported: hidden size 32, two heads of 16, one KV head, 80 tokens,
random weights. This script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.pair import write_decode

write_decode(__file__, window=32)
