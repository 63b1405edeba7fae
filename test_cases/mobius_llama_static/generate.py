"""A Llama as mobius-onnx 0.1.0 exports it with a static cache in f32: TensorScatter along axis 1
into whole caches, Attention 24 with nonpad_kv_seqlen and is_causal. Caches are updated in
place. A ragged prompt counts its padding in nonpad_kv_seqlen; the next step overwrites it.
The model is committed as exported: two layers, hidden size 64, four query and two KV heads of
16, 320 tokens, random weights. This script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "static").write(prompt=9, in_place=True)
