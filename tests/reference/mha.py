"""com.microsoft MultiHeadAttention."""

from typing import NamedTuple

import numpy as np

from .attend import Refused, attend_row, float64, merge_heads, split_heads
from .masks import Band, visible_columns


class MhaResult(NamedTuple):
    output: np.ndarray
    present_key: np.ndarray
    present_value: np.ndarray
    qk: np.ndarray


def multi_head_attention(
    query,
    key=None,
    value=None,
    bias=None,
    key_padding_mask=None,
    attention_bias=None,
    past_key=None,
    past_value=None,
    *,
    num_heads,
    scale=0.0,
    unidirectional=0,
):
    """Query 3-D with K and V 3-D, 4-D or packed 5-D, or everything packed in a 5-D query.

    The fourth result is the scaled and biased score, -inf where a key is hidden. A key that the
    padding mask hides is not read; a row with nothing left is 0.
    """
    if (past_key is None) != (past_value is None):
        raise Refused("past_key and past_value go together")
    q, k, v = _heads(query, key, value, bias, num_heads)
    new_rows = k.shape[2]
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k = np.concatenate([past_key, k], axis=2)
        v = np.concatenate([past_value, v], axis=2)
    present_key, present_value = k, v

    batch, _, rows, head_size = q.shape
    keys = k.shape[2]
    padding = _padding(key_padding_mask, batch, past, new_rows)
    band = Band(None, 0) if unidirectional else Band()
    if not scale:
        scale = 1.0 / np.sqrt(head_size)
    added = None
    if attention_bias is not None:
        added = np.broadcast_to(float64(attention_bias), (batch, num_heads, rows, keys))

    output = np.zeros((batch, num_heads, rows, v.shape[3]))
    scores = np.zeros((batch, num_heads, rows, keys))
    q, k, v = float64(q), float64(k), float64(v)
    for b, h, s in np.ndindex(batch, num_heads, rows):
        row = attend_row(
            q[b, h, s],
            k[b, h],
            v[b, h],
            visible_columns(band, past + s, keys, keys) & padding[b],
            scale=scale,
            bias=None if added is None else added[b, h, s],
        )
        output[b, h, s] = row.output
        scores[b, h, s] = row.biased
    return MhaResult(merge_heads(output), present_key, present_value, scores)


def _heads(query, key, value, bias, num_heads):
    """(B, heads, rows, H) of each, in the element type, as a cache holds them.

    K and V that come 4-D are projected already: only the query's part of the bias applies.
    """
    dtype = query.dtype
    projected = False
    if query.ndim == 5:
        q, k, v = (query[:, :, :, part].transpose(0, 2, 1, 3) for part in range(3))
    else:
        q = split_heads(query, num_heads)
        if key.ndim == 5:
            k, v = (key[:, :, :, part].transpose(0, 2, 1, 3) for part in range(2))
        elif key.ndim == 4:
            k, v, projected = key, value, True
        else:
            k, v = split_heads(key, num_heads), split_heads(value, num_heads)
    if bias is None:
        return q, k, v
    width, value_width = num_heads * q.shape[3], num_heads * v.shape[3]
    if bias.shape != (2 * width + value_width,):
        raise Refused("bias must hold one value per projected channel")
    parts = np.split(float64(bias), [width, 2 * width])
    q_bias, k_bias, v_bias = (part.reshape(num_heads, 1, -1) for part in parts)
    q = (float64(q) + q_bias).astype(dtype)
    if projected:
        return q, k, v
    k = (float64(k) + k_bias).astype(dtype)
    v = (float64(v) + v_bias).astype(dtype)
    return q, k, v


def _padding(mask, batch, past, new_rows):
    """(B, past + new_rows) bool: True where the padding mask leaves a key visible."""
    keys = past + new_rows
    if mask is None:
        return np.ones((batch, keys), bool)
    mask = np.asarray(mask)
    if mask.shape == (batch,):
        return np.arange(keys) < mask[:, None]
    if mask.shape == (batch, keys):
        return mask != 0
    if mask.shape == (batch, new_rows):
        return np.concatenate([np.ones((batch, past), bool), mask != 0], axis=1)
    raise Refused("key_padding_mask must be (B), (B, L) or (B, T)")
