"""F.scaled_dot_product_attention(enable_gqa=True) as torch.onnx.export(dynamo=True) writes it, opset
21: KV heads repeated by Expand, K transposed with three axes, the scale's root on Q and on K.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib import spelled

graph = spelled.Spelling(kv_heads=2)
key, value = graph.repeated("k", 2), graph.repeated("v", 2)
root = graph.number([spelled.SIZE**-0.25])
query = graph.op("Mul", "q", root)
scaled = graph.op("Mul", graph.transposed_in_three_axes(key), root)
weights = graph.op("Softmax", graph.op("MatMul", query, scaled), axis=-1)
graph.op("MatMul", weights, value, outputs=["y"])
spelled.write(__file__, graph, opset=21)
