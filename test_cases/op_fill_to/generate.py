"""ConstantOfShape with a shape that is data, in several types; an empty shape gives a scalar."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from onnx import numpy_helper

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

values = {
    "f32": np.array([-1.5], np.float32),
    "f16": np.array([0.5], np.float16),
    "i64": np.array([7], np.int64),
    "bool": np.array([True]),
}
nodes = [
    node("ConstantOfShape", ["shape"], [name], name, value=numpy_helper.from_array(value))
    for name, value in values.items()
]
nodes.append(node("ConstantOfShape", ["no_axes"], ["scalar"], "scalar"))
outputs = [Value(name, value.dtype, ["a", "b"]) for name, value in values.items()]
outputs.append(Value("scalar", np.float32, []))
inputs = [Value("shape", np.int64, [2]), Value("no_axes", np.int64, [0])]
proto = model(nodes, inputs, outputs, opsets={"": 21})
runs = [
    Run(
        {"shape": np.array(shape, np.int64), "no_axes": np.zeros(0, np.int64)},
        {name: np.full(shape, value[0]) for name, value in values.items()}
        | {"scalar": np.float32(0)},
    )
    for shape in ([2, 3], [0, 4])
]
write_case(__file__, proto, runs)
