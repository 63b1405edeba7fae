"""Weights quantised in blocks along their last axis: packing them, and what they stand for."""

import numpy as np


def pack(codes, bits):
    """uint8 (..., n) of codes below 2 ** bits: low bits first, padded to whole bytes."""
    per_byte = 8 // bits
    short = -codes.shape[-1] % per_byte
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, short)])
    codes = codes.reshape(*codes.shape[:-1], -1, per_byte).astype(np.uint8)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(codes << shifts, axis=-1).astype(np.uint8)


def dequantized(codes, scales, zero_points, block):
    """float64 (..., n) of codes (..., n); scales and zero points (..., blocks) or a number."""
    index = np.arange(codes.shape[-1]) // block
    zeros = np.broadcast_to(np.asarray(zero_points, np.float64), scales.shape)
    difference = codes.astype(np.float64) - zeros[..., index]
    return difference * scales.astype(np.float64)[..., index]
