"""Cases of com.microsoft's operators other than attention: one node each."""

import math

import ml_dtypes
import numpy as np

from tests.reference.quantized import dequantized, pack

from .case import random_numbers
from .operators import Operator

DIMS = ["batch", "sequence", 8]


def write(script, op_type, feeds, dims, expected, *, weights=(), attributes=None, dtype=np.float32,
          **options):
    """`expected` by output name: (array, dims), or None for an output without a name."""
    operator = Operator(op_type, feeds, dims, domain="com.microsoft", weights=weights,
                        **(attributes or {}))
    outputs = [(name, dtype, expected[name][1]) if expected[name] else (None, None, None)
               for name in expected]
    arrays = {name: pair[0] for name, pair in expected.items() if pair}
    operator.write(script, outputs, arrays, **options)


# --- Activations


def erf(x):
    return np.vectorize(math.erf)(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def activation_case(script, op_type, function, *, bias=False, **attributes):
    rng = random_numbers(script)
    x = (3 * rng.standard_normal((2, 3, 8))).astype(np.float32)
    feeds = {"X": x}
    if bias:
        feeds["bias"] = rng.standard_normal(8).astype(np.float32)
    y = function(x.astype(np.float64) + (feeds["bias"] if bias else 0))
    write(script, op_type, feeds, {"X": DIMS}, {"Y": (y, DIMS)}, weights=("bias",),
          attributes=attributes)


# --- Products


def fused_matmul_case(script, a_shape, b_shape, **attributes):
    rng = random_numbers(script)
    a = rng.standard_normal(a_shape).astype(np.float32)
    b = rng.standard_normal(b_shape).astype(np.float32)

    def arranged(x, letter):
        if attributes.get(f"transBatch{letter}"):
            x = np.moveaxis(x, 0, -2)
        return np.swapaxes(x, -1, -2) if attributes.get(f"trans{letter}") else x

    y = attributes.get("alpha", 1) * (arranged(a, "A") @ arranged(b, "B"))
    write(script, "FusedMatMul", {"A": a, "B": b}, {"A": list(a_shape), "B": list(b_shape)},
          {"Y": (y, list(y.shape))}, attributes=attributes)


def matmul_nbits_case(script, *, bits=4, block=16, k=32, n=6, zero_points=None, flat=False,
                      bias=False, dtype=np.float32, accuracy_level=None, **options):
    """zero_points: "packed" or "float". flat: scales and zero points of rank 1."""
    rng = random_numbers(script)
    blocks = -(-k // block)
    codes = rng.integers(0, 2**bits, (n, blocks * block))
    scales = rng.uniform(0.1, 1, (n, blocks)).astype(dtype)
    zeros = 2 ** (bits - 1)
    feeds = {
        "A": rng.standard_normal((2, 3, k)).astype(dtype),
        "B": pack(codes.reshape(n, blocks, block), bits),
        "scales": scales,
        "zero_points": None,
        "g_idx": None,
        "bias": rng.standard_normal(n).astype(dtype) if bias else None,
    }
    if zero_points == "packed":
        zeros = rng.integers(0, 2**bits, (n, blocks))
        feeds["zero_points"] = pack(zeros, bits)
    elif zero_points == "float":
        zeros = rng.uniform(0, 2**bits, (n, blocks)).astype(dtype)
        feeds["zero_points"] = zeros
    weights = dequantized(codes, scales, zeros, block)[:, :k]
    y = feeds["A"].astype(np.float64) @ weights.T + (feeds["bias"] if bias else 0)
    if flat:
        for name in ("scales", "zero_points"):
            if feeds[name] is not None:
                feeds[name] = feeds[name].reshape(-1)
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    if accuracy_level is not None:
        attributes["accuracy_level"] = accuracy_level
    write(script, "MatMulNBits", feeds, {"A": ["batch", "sequence", k]},
          {"Y": (y, ["batch", "sequence", n])},
          weights=("B", "scales", "zero_points", "bias"), attributes=attributes, dtype=dtype,
          **options)


def gather_block_quantized_case(script, *, bits=4, block=16, rows=5, columns=40, element=np.uint8,
                                zero_points=False, dtype=np.float32, **options):
    """element: uint8, which holds packed codes, or ml_dtypes' int4 or uint4."""
    rng = random_numbers(script)
    packed = element is np.uint8
    signed = element is ml_dtypes.int4
    low, high = (-8, 8) if signed else (0, 2**bits)
    blocks = -(-columns // block)
    codes = rng.integers(low, high, (rows, columns))
    scales = rng.uniform(0.1, 1, (rows, blocks)).astype(dtype)
    zeros = 2 ** (bits - 1) if packed else 0
    feeds = {
        "data": pack(codes, bits) if packed else codes.astype(element),
        "indices": np.array([[0, rows - 1, 2], [-1, 1, 1]], np.int64),
        "scales": scales,
        "zero_points": None,
    }
    if zero_points:
        zeros = rng.integers(low, high, (rows, blocks))
        feeds["zero_points"] = pack(zeros, bits) if packed else zeros.astype(element)
    y = dequantized(codes, scales, zeros, block)[feeds["indices"]]
    attributes = {"block_size": block, "gather_axis": 0, "quantize_axis": 1}
    if packed:
        attributes["bits"] = bits
    dims = ["batch", "sequence"]
    write(script, "GatherBlockQuantized", feeds, {"indices": dims}, {"output": (y, dims + [columns])},
          weights=("data", "scales", "zero_points"), attributes=attributes, dtype=dtype, **options)


# --- SkipLayerNormalization


def skip_layer_norm_case(script, *, beta=True, bias=False, total=False, skip_shape=(2, 3, 8),
                         **options):
    rng = random_numbers(script)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    feeds = {
        "input": normal(2, 3, 8),
        "skip": normal(*skip_shape),
        "gamma": normal(8),
        "beta": normal(8) if beta else None,
        "bias": normal(8) if bias else None,
    }
    added = feeds["input"].astype(np.float64) + feeds["skip"] + (feeds["bias"] if bias else 0)
    centred = added - added.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * feeds["gamma"]
    y += feeds["beta"] if beta else 0
    expected = {"output": (y, DIMS)}
    if total:
        expected |= {"mean": None, "inv_std_var": None, "input_skip_bias_sum": (added, DIMS)}
    names = {2: "batch", 3: "sequence", 8: 8, 1: 1}
    skip_dims = [names[size] for size in skip_shape]
    write(script, "SkipLayerNormalization", feeds, {"input": DIMS, "skip": skip_dims}, expected,
          weights=("gamma", "beta", "bias"), attributes={"epsilon": 1e-5}, **options)
