"""transformers' eager attention with a cap, as Gemma 2 has it: scores * scale, divided by the cap,
Tanh, times the cap, plus a float mask [B, 1, S, T]; repeated KV heads.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled

graph = spelled.Spelling(kv_heads=2)
key = graph.op("Transpose", graph.repeated("k", 2), perm=[0, 1, 3, 2])
scores = graph.op("Mul", graph.op("MatMul", "q", key), graph.number(spelled.SIZE**-0.5))
capped = graph.op("Tanh", graph.op("Div", scores, graph.number(1.5)))
scores = graph.op("Mul", capped, graph.number(1.5))
mask = graph.mask(np.float32, "batch", 1, "q_length", "k_length")
weights = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
graph.op("MatMul", weights, graph.repeated("v", 2), outputs=["y"])
bias = spelled.random_bias(spelled.BATCH, 1, "rows", "keys")
spelled.write(__file__, graph, bias, meaning={"softcap": 1.5})
