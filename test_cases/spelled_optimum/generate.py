"""A decoder's attention as optimum writes it: the causal comparison of two Ranges joined with the
attention mask, both stretched by Expand to a shape in which ConstantOfShape, Equal and Where
replace -1; repeated KV heads; scale by shape; NaN cleaned. The band comes from the comparison, the
padding stays a mask. Entry 1 is padded at its left: its first row sees nothing.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from onnx import numpy_helper

from test_cases.lib import spelled


def filled_with(value):
    return numpy_helper.from_array(np.array([value]))


graph = spelled.Spelling(kv_heads=2)
padding = graph.op("Cast", graph.mask(np.int64, "batch", "k_length"), to=9)
rows, keys = graph.length("q", 2), graph.length("k", 2)
columns = graph.positions(graph.ints(0), keys)
positions = graph.positions(graph.op("Sub", keys, rows), keys)
column = graph.op("Unsqueeze", columns, graph.ints(0, 1, 2))
row = graph.op("Unsqueeze", positions, graph.ints(0, 1, 3))
no_dims = graph.constant("no_dims", np.array([], np.int64))
everything = graph.op("ConstantOfShape", no_dims, value=filled_with(True))
visible = graph.op("And", everything, graph.op("LessOrEqual", column, row))
visible = graph.op("And", visible, graph.op("Unsqueeze", padding, graph.ints(1, 2)))
shape = graph.op("Concat", graph.length("q", 0), graph.ints(-1), rows, keys, axis=0)
ones = graph.op("ConstantOfShape", graph.op("Shape", shape), value=filled_with(1))
same = graph.op("Equal", shape, graph.op("Mul", ones, graph.number(-1, np.int64)))
mask = graph.op("Expand", visible, graph.op("Where", same, ones, shape))

nothing = graph.number([0.0])
bias = graph.op("Where", mask, nothing, graph.number([-np.inf]))
scale = graph.computed_scale("q")
query = graph.op("Mul", "q", graph.op("Sqrt", scale))
key = graph.op("Transpose", graph.repeated("k", 2), perm=[0, 1, 3, 2])
scores = graph.op("MatMul", query, graph.op("Mul", key, graph.op("Sqrt", scale)))
weights = graph.op("Softmax", graph.op("Add", scores, bias), axis=-1)
cleaned = graph.op("Where", graph.op("IsNaN", weights), nothing, weights)
graph.op("MatMul", cleaned, graph.repeated("v", 2), outputs=["y"])
spelled.write(__file__, graph, spelled.causal_and_padding, lengths=((5, 5), (1, 7), (3, 6)))
