"""DequantizeLinear: one scale, a scale per axis, and INT4, UINT4 and UINT8 weights in blocks that
feed MatMul, as exporters with QDQ write them; a last block may be short.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import ml_dtypes

from test_cases.lib.case import Run, random_numbers, write_case
from tests.reference.onnx_model import Value, model, node

rng = random_numbers(__file__)
x = rng.standard_normal((2, 3, 20)).astype(np.float32)
codes = rng.integers(-128, 128, (2, 3, 4)).astype(np.int8)
points = rng.integers(-5, 5, 3).astype(np.int8)
scales = rng.uniform(0.01, 0.1, 3).astype(np.float32)
signed = rng.integers(-8, 8, (20, 6))
unsigned = rng.integers(0, 16, (20, 6))
block_scales = rng.uniform(0.05, 0.2, (2, 6)).astype(np.float32)
block_points = rng.integers(0, 16, (2, 6))
by_row = rng.integers(0, 256, (6, 20)).astype(np.uint8)
row_scales = rng.uniform(0.01, 0.1, (6, 2)).astype(np.float32)
row_points = rng.integers(100, 150, (6, 2)).astype(np.uint8)
initializers = {
    "scale": np.array(0.5, np.float32),
    "scales": scales,
    "points": points,
    "signed": signed.astype(ml_dtypes.int4),
    "unsigned": unsigned.astype(ml_dtypes.uint4),
    "block_scales": block_scales,
    "block_points": block_points.astype(ml_dtypes.uint4),
    "by_row": by_row,
    "row_scales": row_scales,
    "row_points": row_points,
}
nodes = [
    node("DequantizeLinear", ["codes", "scale"], ["one_scale"], "one_scale"),
    node("DequantizeLinear", ["codes", "scales", "points"], ["per_axis"], "per_axis", axis=-2),
    node("DequantizeLinear", ["signed", "block_scales"], ["w_signed"], "w_signed",
         axis=0, block_size=16),
    node("DequantizeLinear", ["unsigned", "block_scales", "block_points"], ["w_unsigned"],
         "w_unsigned", axis=0, block_size=16),
    node("DequantizeLinear", ["by_row", "row_scales", "row_points"], ["w_rows"], "w_rows",
         axis=-1, block_size=16),
    node("Transpose", ["w_rows"], ["w_columns"], "transpose", perm=[1, 0]),
    node("MatMul", ["x", "w_signed"], ["y_signed"], "y_signed"),
    node("MatMul", ["x", "w_unsigned"], ["y_unsigned"], "y_unsigned"),
    node("MatMul", ["x", "w_columns"], ["y_rows"], "y_rows"),
]
inputs = [
    Value("x", np.float32, ["batch", "sequence", 20]),
    Value("codes", np.int8, ["batch", 3, "columns"]),
]
outputs = [Value(name, np.float32, ["batch", 3, "columns"]) for name in ("one_scale", "per_axis")]
outputs += [
    Value(name, np.float32, ["batch", "sequence", 6])
    for name in ("y_signed", "y_unsigned", "y_rows")
]


def blocks(array):
    """One value a block of 16 along axis 0, spread over the block's rows."""
    return np.repeat(array, 16, 0)[:20].astype(np.float64)


exact = x.astype(np.float64)
row_weights = (by_row.T - blocks(row_points.T)) * blocks(row_scales.T)
expected = {
    "one_scale": codes * 0.5,
    "per_axis": (codes.astype(np.float64) - points[:, None]) * scales[:, None],
    "y_signed": exact @ (signed * blocks(block_scales)),
    "y_unsigned": exact @ ((unsigned - blocks(block_points)) * blocks(block_scales)),
    "y_rows": exact @ row_weights,
}
proto = model(nodes, inputs, outputs, initializers=initializers, opsets={"": 21})
write_case(__file__, proto, Run({"x": x, "codes": codes}, expected))
