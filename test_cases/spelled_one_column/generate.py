"""A bias whose last axis is 1: Add repeats it over the keys, where Attention's own mask would hide all
but the first.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import spelled

graph = spelled.Spelling()
key = graph.op("Transpose", "k", perm=[0, 1, 3, 2])
scores = graph.op("Mul", graph.op("MatMul", "q", key), graph.number(spelled.SIZE**-0.5))
scores = graph.op("Add", graph.mask(np.float32, "q_length", 1), scores)
graph.op("MatMul", graph.op("Softmax", scores, axis=-1), "v", outputs=["y"])
spelled.write(__file__, graph, spelled.random_bias("rows", 1))
