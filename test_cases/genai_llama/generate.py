"""A Llama as onnxruntime-genai 0.18's builder exports it for the CPU in f32: packed QKV,
GroupQueryAttention with rotary, lengths from attention_mask, norms in domain ai.onnx, a head
size that only the data tells. The model is committed as exported: two layers, hidden size 64,
four query and two KV heads of 16, 320 tokens, random weights. This script makes inputs and
expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "gqa", head_size=16).write()
