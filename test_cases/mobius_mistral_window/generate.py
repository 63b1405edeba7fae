"""A Mistral as mobius-onnx 0.1.0 exports it for the CPU in f32: GroupQueryAttention with a
window of 8, seqlens_k from attention_mask, SkipSimplifiedLayerNormalization also present as a
model function. The prompt is longer than the window. The model is committed as exported: two
layers, hidden size 64, four query and two KV heads of 16, 320 tokens, random weights. This
script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "gqa").write(prompt=11, window=True)
