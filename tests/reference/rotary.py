"""Rotary position embedding: the rotation itself and the operators of both domains."""

import numpy as np

from .attend import Refused, float64


def rotate(x, cos, sin, interleaved=False):
    """Rotates the first 2 * cos.shape[-1] channels of x; the others pass through.

    x (..., H); cos and sin broadcast to x's leading axes. A pair is channels (i, i + R/2), or
    (2i, 2i + 1) when interleaved.
    """
    half = cos.shape[-1]
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        real, imaginary = turned[..., 0::2], turned[..., 1::2]
    else:
        real, imaginary = turned[..., :half], turned[..., half:]

    new_real = real * cos - imaginary * sin
    new_imaginary = real * sin + imaginary * cos
    if interleaved:
        pairs = np.stack([new_real, new_imaginary], axis=-1)
        turned = pairs.reshape(turned.shape)
    else:
        turned = np.concatenate([new_real, new_imaginary], axis=-1)
    return np.concatenate([turned, rest], axis=-1)


def rows_at(cache, positions):
    """cache[positions], with every position checked against the cache."""
    positions = np.asarray(positions, np.int64)
    if positions.size and (positions.min() < 0 or positions.max() >= len(cache)):
        raise Refused(f"a position is out of range [0, {len(cache)})")
    return cache[positions]


def _rotate_input(x, cos, sin, interleaved, num_heads):
    """x 4-D (B, heads, S, H) or 3-D (B, S, heads * H); cos and sin (B, S, R/2)."""
    cos, sin = cos[:, None], sin[:, None]
    if x.ndim == 4:
        return rotate(x, cos, sin, interleaved)
    batch, rows, width = x.shape
    heads = x.reshape(batch, rows, num_heads, width // num_heads).transpose(0, 2, 1, 3)
    turned = rotate(heads, cos, sin, interleaved)
    return turned.transpose(0, 2, 1, 3).reshape(x.shape)


def rotary_embedding(
    X,
    cos_cache,
    sin_cache,
    position_ids=None,
    *,
    interleaved=0,
    num_heads=0,
    rotary_embedding_dim=0,
):
    """ai.onnx RotaryEmbedding 23."""
    x, cos, sin = float64(X), float64(cos_cache), float64(sin_cache)
    if x.ndim == 3 and num_heads == 0:
        raise Refused("num_heads is needed for a 3-D input")
    head_size = x.shape[3] if x.ndim == 4 else x.shape[2] // num_heads
    channels = rotary_embedding_dim or head_size
    if channels % 2:
        raise Refused("rotary over an odd number of channels")
    if cos.shape[-1] != channels // 2:
        raise Refused("the cache's width must be half the rotated channels")
    if position_ids is not None:
        cos, sin = rows_at(cos, position_ids), rows_at(sin, position_ids)
    return _rotate_input(x, cos, sin, interleaved, num_heads)


def contrib_rotary_embedding(
    input,
    position_ids,
    cos_cache,
    sin_cache,
    *,
    interleaved=0,
    num_heads=0,
    rotary_embedding_dim=0,
):
    """com.microsoft RotaryEmbedding 1; position_ids is (B, S), or (1) for offset + s."""
    x, cos, sin = float64(input), float64(cos_cache), float64(sin_cache)
    if x.ndim == 4:
        batch, _, rows, _ = x.shape
    else:
        batch, rows, width = x.shape
        if num_heads == 0:
            if rotary_embedding_dim:
                raise Refused("num_heads must be used with rotary_embedding_dim")
            num_heads = width // (2 * cos.shape[-1])
    positions = np.asarray(position_ids, np.int64)
    if positions.ndim == 1:
        positions = np.broadcast_to(positions[0] + np.arange(rows), (batch, rows))
    cos, sin = rows_at(cos, positions), rows_at(sin, positions)
    return _rotate_input(x, cos, sin, interleaved, num_heads)
