"""One query row over its keys: what every attention operator has in common."""

from typing import NamedTuple

import numpy as np


class Refused(ValueError):
    """The operator's rules forbid this input or attribute."""


class Row(NamedTuple):
    """Result of `attend_row`. The three score vectors and the weights have one entry per key."""

    scaled: np.ndarray
    """scale * query . key, for every key"""
    capped: np.ndarray
    """the same after the softcap"""
    biased: np.ndarray
    """the same plus the bias; -inf where the key is hidden"""
    weights: np.ndarray
    """the softmax; 0 where the key is hidden"""
    output: np.ndarray
    """weights times values; 0 where no key is visible"""


def float64(array):
    return None if array is None else np.asarray(array).astype(np.float64)


def attend_row(query, keys, values, visible, *, scale, softcap=0.0, bias=None, sink=None):
    """Attention of one query row.

    query (H), keys (T, H), values (T, Hv), visible (T) bool, bias (T) or None.
    The order is scale, softcap, bias, softmax, product with V. A bias of -inf hides its key. Hidden
    keys and values are not read, except that `scaled` and `capped` are defined for every key.
    sink: a logit that takes part in the softmax's denominator only.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = scale * (keys @ query)
        capped = softcap * np.tanh(scaled / softcap) if softcap > 0 else scaled

    seen = visible.copy()
    if bias is not None:
        seen &= ~np.isneginf(bias)
    biased = np.full(len(keys), -np.inf)
    biased[seen] = capped[seen] if bias is None else capped[seen] + bias[seen]

    weights = np.zeros(len(keys))
    output = np.zeros(values.shape[-1])
    if seen.any():
        top = biased[seen].max()
        if sink is not None:
            top = max(top, sink)
        exponentials = np.exp(biased[seen] - top)
        total = exponentials.sum()
        if sink is not None:
            total += np.exp(sink - top)
        weights[seen] = exponentials / total
        output = weights[seen] @ values[seen]
    return Row(scaled, capped, biased, weights, output)


def split_heads(array, heads):
    """(B, S, heads * H) -> (B, heads, S, H)."""
    batch, rows, width = array.shape
    if width % heads:
        raise Refused(f"a width of {width} is not a multiple of {heads} heads")
    return array.reshape(batch, rows, heads, width // heads).transpose(0, 2, 1, 3)


def merge_heads(array):
    """(B, heads, S, H) -> (B, S, heads * H)."""
    batch, heads, rows, width = array.shape
    return array.transpose(0, 2, 1, 3).reshape(batch, rows, heads * width)
