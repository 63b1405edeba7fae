"""A Mistral as mobius-onnx 0.1.0 exports it with a static cache and static_cache_bias in f32:
TensorScatter, then Attention 24 with nonpad_kv_seqlen and a float bias that Range, Less, And
and Where compute from window and causality. The model is committed as exported: two layers,
hidden size 64, four query and two KV heads of 16, 320 tokens, random weights. This script
makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "static bias").write(prompt=11)
