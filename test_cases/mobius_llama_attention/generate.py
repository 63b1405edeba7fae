"""A Llama as mobius-onnx 0.1.0 exports it by default in f32: Attention 24 with three axes, bool
mask, growing past and is_causal, RotaryEmbedding with gathered caches. Ragged batches are
padded on the left, so that some rows see nothing. The model is committed as exported: two
layers, hidden size 64, four query and two KV heads of 16, 320 tokens, random weights. This
script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "attention").write()
