"""ai.onnx Attention 23, 24 and 25."""

from typing import NamedTuple

import numpy as np

from .attend import Refused, attend_row, float64, merge_heads, split_heads
from .masks import Band, visible_columns


class AttentionResult(NamedTuple):
    Y: np.ndarray
    present_key: np.ndarray
    present_value: np.ndarray
    qk_matmul_output: np.ndarray


def attention(
    Q,
    K,
    V,
    attn_mask=None,
    past_key=None,
    past_value=None,
    nonpad_kv_seqlen=None,
    *,
    is_causal=0,
    q_num_heads=None,
    kv_num_heads=None,
    scale=None,
    softcap=0.0,
    qk_matmul_output_mode=0,
    softmax_precision=1,
    left_window_size=-1,
    right_window_size=-1,
):
    """Q, K, V 4-D (B, heads, rows, H) or 3-D (B, rows, heads * H).

    Y has Q's rank. The fourth result by mode: 0 scaled, 1 softcapped, 2 softcapped and biased (-inf
    where hidden), 3 the weights.
    """
    if qk_matmul_output_mode not in (0, 1, 2, 3):
        raise Refused("qk_matmul_output_mode must be 0 to 3")
    if softmax_precision not in (1, 10, 11, 16):
        raise Refused("softmax_precision must be 1, 10, 11 or 16")
    if left_window_size < -1 or right_window_size < -1:
        raise Refused("a window size below -1")
    if (past_key is None) != (past_value is None):
        raise Refused("past_key and past_value go together")
    if nonpad_kv_seqlen is not None and past_key is not None:
        raise Refused("nonpad_kv_seqlen with past_key")

    query, key, value = np.asarray(Q), np.asarray(K), np.asarray(V)
    three_axes = query.ndim == 3
    if three_axes:
        query = split_heads(query, q_num_heads)
        key, value = split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)

    batch, heads, rows, head_size = query.shape
    keys = key.shape[2]
    group = heads // key.shape[1]
    lengths, offsets = _lengths(nonpad_kv_seqlen, batch, rows, keys, past)
    band = _band(is_causal, left_window_size, right_window_size)
    allowed, bias = _mask(attn_mask, (batch, heads, rows, keys))
    if scale is None:
        scale = 1.0 / np.sqrt(head_size)

    q, k, v = float64(query), float64(key), float64(value)
    y = np.zeros((batch, heads, rows, value.shape[3]))
    scores = np.zeros((batch, heads, rows, keys))
    for b, h, s in np.ndindex(batch, heads, rows):
        visible = visible_columns(band, s + offsets[b], lengths[b], keys)
        if allowed is not None:
            visible &= allowed[b, h, s]
        row = attend_row(
            q[b, h, s],
            k[b, h // group],
            v[b, h // group],
            visible,
            scale=scale,
            softcap=softcap,
            bias=None if bias is None else bias[b, h, s],
        )
        y[b, h, s] = row.output
        scores[b, h, s] = row[qk_matmul_output_mode]
    return AttentionResult(merge_heads(y) if three_axes else y, key, value, scores)


def _lengths(nonpad_kv_seqlen, batch, rows, keys, past):
    """Valid keys and position of query row 0, per batch entry."""
    if nonpad_kv_seqlen is None:
        return np.full(batch, keys), np.full(batch, past)
    lengths = np.asarray(nonpad_kv_seqlen, np.int64)
    if lengths.shape != (batch,):
        raise Refused(f"nonpad_kv_seqlen must have shape ({batch},)")
    if lengths.size and (lengths.min() < 0 or lengths.max() > keys):
        raise Refused(f"nonpad_kv_seqlen is out of range [0, {keys}]")
    return lengths, lengths - rows


def _band(is_causal, left, right):
    right = None if right < 0 else right
    if is_causal:
        right = 0
    return Band(None if left < 0 else left, right)


def _mask(mask, shape):
    """(allowed, bias) broadcast to `shape`; the one that the mask is not is None.

    A last axis that is shorter than the keys hides the missing ones, a last axis of 1 as well.
    """
    if mask is None:
        return None, None
    mask = np.asarray(mask)
    if not 1 <= mask.ndim <= 4:
        raise Refused("attn_mask must have 1 to 4 axes")
    missing = shape[3] - mask.shape[-1]
    if missing < 0:
        raise Refused("attn_mask is longer than the keys")
    is_bool = mask.dtype == bool
    if not is_bool:
        mask = float64(mask)
    filler = np.full(mask.shape[:-1] + (missing,), False if is_bool else -np.inf)
    mask = np.concatenate([mask, filler], axis=-1)
    try:
        mask = np.broadcast_to(mask, shape)
    except ValueError as error:
        raise Refused(f"attn_mask does not broadcast to {shape}") from error
    return (mask, None) if is_bool else (None, mask)
