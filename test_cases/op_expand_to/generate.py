"""Expand to a shape that is data: axes of one element grow, the target's ones keep x's axis, and
a longer target adds axes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

x = random_numbers(__file__).standard_normal((2, 1, 4)).astype(np.float32)
nodes = [node("Expand", ["x", "shape"], ["y"], "expand"),
         node("Expand", ["x", "longer"], ["z"], "expand_more")]
inputs = [Value("x", np.float32, ["batch", "one", 4]), Value("shape", np.int64, [3]),
          Value("longer", np.int64, [4])]
outputs = [Value("y", np.float32, ["a", "b", "c"]), Value("z", np.float32, ["d", "e", "f", "g"])]
proto = model(nodes, inputs, outputs, opsets={"": 21})
runs = [
    Run(
        {"x": x, "shape": np.array(shape, np.int64), "longer": np.array(longer, np.int64)},
        {"y": x + np.zeros(shape, np.float32), "z": x + np.zeros(longer, np.float32)},
    )
    for shape, longer in (([1, 3, 1], [2, 1, 5, 4]), ([2, 0, 4], [3, 2, 1, 1]))
]
write_case(__file__, proto, runs)
