"""Qwen3, tied embeddings, head size 32, as mobius-onnx 0.1.0 builds it with --ep cpu --dtype f32.
The model is committed as exported, less its metadata: hidden size 32, two heads, one KV head, 80
tokens, random weights. This script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "gqa").write(vocabulary=80)
