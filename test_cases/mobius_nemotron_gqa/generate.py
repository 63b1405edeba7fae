"""Nemotron, half of each head rotated, as mobius-onnx 0.1.0 builds it with --ep cpu --dtype f32.
The attention node has rotary_embedding_dim, which says what the width of its caches says. The
model is committed as exported, less its metadata: hidden size 64, two heads of 32, one KV head,
80 tokens, random weights. This script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "gqa").write(vocabulary=80)
