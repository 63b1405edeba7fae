"""F.scaled_dot_product_attention with a bool mask as TorchScript's exporter writes it, opset 18: the
scale by Q's shape and its root on Q and on K^T, Where(mask, 0, -inf), NaN of empty rows cleaned.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled

graph = spelled.Spelling()
scale = graph.computed_scale("q")
query = graph.op("Mul", "q", graph.op("Sqrt", scale))
key = graph.op("Mul", graph.op("Transpose", "k", perm=[0, 1, 3, 2]), graph.op("Sqrt", scale))
mask = graph.mask(bool, "batch", 1, "q_length", "k_length")
nothing, hidden = graph.number([0.0]), graph.number([-np.inf])
scores = graph.op("Add", graph.op("MatMul", query, key), graph.op("Where", mask, nothing, hidden))
weights = graph.op("Softmax", scores, axis=-1)
cleaned = graph.op("Where", graph.op("IsNaN", weights), nothing, weights)
graph.op("MatMul", cleaned, "v", outputs=["y"])
spelled.write(__file__, graph, spelled.random_visible)
