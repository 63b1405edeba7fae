"""transformers' eager attention in f16: the softmax between Casts to f32 and back, a mask over
keys alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled


def bias(rng, rows, keys):
    array = rng.standard_normal(keys).astype(np.float16)
    return array, {"bias": array.astype(np.float64)}


graph = spelled.Spelling(dtype=np.float16)
key = graph.op("Transpose", "k", perm=[0, 1, 3, 2])
scores = graph.op("Div", graph.op("MatMul", "q", key), graph.number(spelled.SIZE**0.5))
scores = graph.op("Add", scores, graph.mask(np.float16, "k_length"))
weights = graph.op("Softmax", graph.op("Cast", scores, to=1), axis=-1)
graph.op("MatMul", graph.op("Cast", weights, to=10), "v", outputs=["y"])
spelled.write(__file__, graph, bias)
