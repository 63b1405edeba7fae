"""Llama, as optimum-onnx 0.1 exports it with transformers 4.57 and opset 18, less its metadata.
Attention is matrix products and a softmax. The model is committed as exported: hidden size 32,
two heads of 16, one KV head, 80 tokens, random weights. This script makes inputs and expected
outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "attention").write(vocabulary=80)
