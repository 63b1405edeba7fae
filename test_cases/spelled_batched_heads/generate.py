"""Heads in the batch (torch.bmm): Q, K and V with three axes, the scores with four only where the
mask joins them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled

graph = spelled.Spelling()


def flat(name):
    shape = graph.op("Concat", graph.ints(-1), graph.length(name, 2), graph.ints(spelled.SIZE),
                     axis=0)
    return graph.op("Reshape", name, shape)


query, key, value = (flat(name) for name in "qkv")
scaled = graph.op("Mul", query, graph.number(spelled.SIZE**-0.5))
scores = graph.op("MatMul", scaled, graph.op("Transpose", key, perm=[0, 2, 1]))
rows, keys = graph.length("q", 2), graph.length("k", 2)
heads = graph.op("Concat", graph.length("q", 0), graph.ints(spelled.HEADS), rows, keys, axis=0)
mask = graph.mask(np.float32, "batch", 1, "q_length", "k_length")
scores = graph.op("Add", graph.op("Reshape", scores, heads), mask)
scores = graph.op("Reshape", scores, graph.op("Concat", graph.ints(-1), rows, keys, axis=0))
attended = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
shape = graph.op("Concat", graph.length("q", 0), graph.ints(spelled.HEADS), rows,
                 graph.ints(spelled.SIZE), axis=0)
graph.op("Reshape", attended, shape, outputs=["y"])
bias = spelled.random_bias(spelled.BATCH, 1, "rows", "keys")
spelled.write(__file__, graph, bias)
