"""Llama, as onnxruntime-genai 0.18's builder exports it with -p int4 -e cpu --extra_options
use_qdq=true is_symmetric=false. DequantizeLinear in blocks feeds MatMul. The model is committed
as exported: hidden size 32, two heads of 16, one KV head, 80 tokens, random weights. This script
makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.decoder import Decoder

Decoder(__file__, "gqa", head_size=16).write(vocabulary=80)
