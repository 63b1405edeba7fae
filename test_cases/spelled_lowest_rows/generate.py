"""A bool mask that chooses between the scores and the lowest float: a row that it hides wholly is the
mean of V, as a finite number hides nothing.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled


def lowest(rng, rows, keys):
    array = spelled.random_visible(rng, rows, keys)[0]
    return array, {"bias": np.where(array, 0.0, -1e30)}


graph = spelled.Spelling()
key = graph.op("Transpose", "k", perm=[0, 1, 3, 2])
scores = graph.op("Mul", graph.op("MatMul", "q", key), graph.number(spelled.SIZE**-0.5))
mask = graph.mask(bool, "batch", 1, "q_length", "k_length")
scores = graph.op("Where", mask, scores, graph.number(spelled.LOWEST))
graph.op("MatMul", graph.op("Softmax", scores, axis=-1), "v", outputs=["y"])
spelled.write(__file__, graph, lowest)
