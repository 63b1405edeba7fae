"""If with a condition that is data: branches that hold constants of different length (as longrope
caches come), branches that read outer values, and one If inside another.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from onnx import helper, numpy_helper

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((2, 5)).astype(np.float32)
short = rng.standard_normal((4, 5)).astype(np.float32)
long = rng.standard_normal((7, 5)).astype(np.float32)


def branch(nodes, result, dims):
    value = helper.make_tensor_value_info(result, 1, dims)
    return helper.make_graph(nodes, result + "_graph", [], [value])


def constant(name, array):
    call = node("Constant", [], [name], name, value=numpy_helper.from_array(array))
    return branch([call], name, array.shape)


inner = node(
    "If", ["positive"], ["inner"], "inner",
    then_branch=branch([node("Neg", ["sum"], ["negated"], "negate")], "negated", ["batch", 5]),
    else_branch=branch([node("Identity", ["sum"], ["same"], "keep")], "same", ["batch", 5]),
)
nodes = [
    node("ReduceSum", ["x"], ["total"], "total", keepdims=0),
    node("Greater", ["total", "zero"], ["positive"], "positive"),
    node("Greater", ["length", "limit"], ["longer"], "longer"),
    node("If", ["longer"], ["cache"], "caches",
         then_branch=constant("long", long), else_branch=constant("short", short)),
    node("Gather", ["cache", "length"], ["row"], "row"),
    node("Add", ["x", "row"], ["sum"], "add"),
    node("If", ["longer"], ["y"], "outer",
         then_branch=branch([inner], "inner", ["batch", 5]),
         else_branch=branch([node("Mul", ["sum", "x"], ["product"], "multiply")], "product",
                            ["batch", 5])),
]
initializers = {"zero": np.array(0, np.float32), "limit": np.array(3, np.int64)}
inputs = [Value("x", np.float32, ["batch", 5]), Value("length", np.int64, [])]
outputs = [Value("cache", np.float32, ["rows", 5]), Value("y", np.float32, ["batch", 5])]
proto = model(nodes, inputs, outputs, initializers=initializers, opsets={"": 21})
runs = []
for sign, length in ((1, 2), (1, 5), (-1, 6)):
    fed = sign * np.abs(x)
    cache = long if length > 3 else short
    total = fed + cache[length]
    y = total * fed if length <= 3 else -sign * total
    runs.append(Run({"x": fed, "length": np.array(length, np.int64)}, {"cache": cache, "y": y}))
write_case(__file__, proto, runs)
