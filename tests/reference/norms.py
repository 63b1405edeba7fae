"""Root mean square normalisations."""

import numpy as np

from .attend import Refused, float64


def rms_rows(x, weight, epsilon, axes=(-1,)):
    return x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + epsilon) * weight


def rms_normalization(X, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    """ai.onnx RMSNormalization 23; `scale` broadcasts to X."""
    if stash_type != 1:
        raise Refused("stash_type must be 1")
    x = float64(X)
    if not -x.ndim <= axis < x.ndim:
        raise Refused("axis is out of range")
    return rms_rows(x, float64(scale), epsilon, tuple(range(axis % x.ndim, x.ndim)))


def simplified_layer_normalization(X, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    """SimplifiedLayerNormalization, which exporters write in domain ai.onnx: no mean, no bias."""
    return rms_normalization(X, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


def skip_simplified_layer_normalization(input, skip, gamma, bias=None, *, epsilon):
    """com.microsoft SkipSimplifiedLayerNormalization; returns (output, input_skip_bias_sum)."""
    total = float64(input) + float64(skip)
    if bias is not None:
        total = total + float64(bias)
    return rms_rows(total, float64(gamma), epsilon), total
