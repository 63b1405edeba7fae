"""F.scaled_dot_product_attention(is_causal=True) as torch.onnx.export writes it: a triangle of ones
against zero chooses 0 or the lowest float. Rows stand at the first keys: the band starts at 0.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled


def causal_from_first_key(_, rows, keys):
    return None, {"visible": np.tril(np.ones((rows, keys), bool))}


graph = spelled.Spelling()
size = graph.op("Concat", graph.length("q", 2), graph.length("k", 2), axis=0)
ones = graph.op("Expand", graph.number(1.0), size)
outside = graph.op("Equal", graph.op("Trilu", ones, upper=0), graph.number(0.0))
mask = graph.op("Where", outside, graph.number(spelled.LOWEST), graph.number(0.0))
root = graph.number([spelled.SIZE**-0.25])
key = graph.op("Mul", graph.transposed_in_three_axes("k"), root)
scores = graph.op("Add", graph.op("MatMul", graph.op("Mul", "q", root), key), mask)
graph.op("MatMul", graph.op("Softmax", scores, axis=-1), "v", outputs=["y"])
spelled.write(__file__, graph, causal_from_first_key, lengths=((5, 5), (3, 7), (6, 2)))
