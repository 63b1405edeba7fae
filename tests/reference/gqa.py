"""com.microsoft GroupQueryAttention."""

from typing import NamedTuple, Optional

import numpy as np

from .attend import Refused, attend_row, float64, merge_heads, split_heads
from .masks import Band, visible_columns
from .norms import rms_rows
from .rotary import rotate, rows_at


class GqaResult(NamedTuple):
    output: np.ndarray
    """(B, S, N * H) float64"""
    present_key: np.ndarray
    """(B, K, C, H) in the cache's type"""
    present_value: np.ndarray
    output_qk: np.ndarray
    """(B, N, S, total) float64"""
    present_rows: np.ndarray
    """(B, C) bool: cache slots that hold a row; the others are zero or left as they were"""


class Entry(NamedTuple):
    """What a batch entry does in this call."""

    start: int
    """position of query row 0, and slot of new row 0"""
    length: int
    """keys that exist once the new rows are written"""
    rows: int
    """query rows computed; the rows after them are 0"""


class CacheFormat(NamedTuple):
    """How rows (..., heads, rows, H) stand in a cache."""

    dtype: np.dtype
    element: np.dtype
    """type of the query; rows are rounded to it before they are quantised"""
    head_size: int
    bits: int = 0
    scale: Optional[np.ndarray] = None

    def encode(self, rows):
        if self.bits == 0:
            return rows.astype(self.dtype)
        low, high = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        rounded = float64(rows.astype(self.element))
        codes = np.clip(np.rint(rounded / self.scale), low, high)
        codes = np.where(np.isnan(codes), high, codes).astype(np.int64)
        if self.bits == 8:
            return codes.astype(np.int8)
        nibbles = (codes + 8).astype(np.uint8)
        if self.head_size % 2:
            padding = np.zeros(nibbles.shape[:-1] + (1,), np.uint8)
            nibbles = np.concatenate([nibbles, padding], axis=-1)
        return nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)

    def decode(self, stored):
        if self.bits == 0:
            return float64(stored)
        if self.bits == 8:
            return float64(stored) * self.scale
        nibbles = np.stack([stored & 15, stored >> 4], axis=-1)
        codes = nibbles.reshape(stored.shape[:-1] + (-1,))[..., : self.head_size]
        return (codes.astype(np.float64) - 8) * self.scale

    def width(self):
        return (self.head_size + 1) // 2 if self.bits == 4 else self.head_size


def resident_rows(tokens, capacity, window):
    """Rows of a windowed cache in use after `tokens` tokens."""
    if tokens <= capacity:
        return tokens
    evicted_at_once = capacity - window + 1
    return tokens - evicted_at_once * -(-(tokens - capacity) // evicted_at_once)


def group_query_attention(
    query,
    key=None,
    value=None,
    past_key=None,
    past_value=None,
    seqlens_k=None,
    total_sequence_length=None,
    cos_cache=None,
    sin_cache=None,
    position_ids=None,
    attention_bias=None,
    head_sink=None,
    k_scale=None,
    v_scale=None,
    q_norm_weight=None,
    k_norm_weight=None,
    query_seqlens=None,
    *,
    num_heads,
    kv_num_heads,
    scale=0.0,
    softcap=0.0,
    do_rotary=0,
    rotary_interleaved=0,
    local_window_size=-1,
    smooth_softmax=-1,
    causal=1,
    qk_output=0,
    sliding_window_cache=0,
    k_quant_type="NONE",
    v_quant_type="NONE",
    kv_cache_bit_width=0,
    qk_norm_epsilon=1e-6,
    q_norm_epsilon=None,
    k_norm_epsilon=None,
    in_place=False,
):
    """All inputs by their ONNX names. `in_place`: past and present are one buffer."""
    if causal not in (0, 1):
        raise Refused("causal must be 0 or 1")
    if causal == 0 and local_window_size != -1:
        raise Refused("local_window_size must be -1 when causal is 0")
    if (past_key is None) != (past_value is None):
        raise Refused("past_key and past_value go together")
    windowed = sliding_window_cache == 1
    if windowed and (local_window_size <= 0 or past_key is None or qk_output):
        raise Refused("sliding_window_cache needs a window and a past, and has no score output")

    q, k, v = _heads(query, key, value, num_heads, kv_num_heads)
    batch, _, rows, head_size = q.shape
    total = int(np.asarray(total_sequence_length).reshape(-1)[0])
    past_capacity = 0 if past_key is None else past_key.shape[2]
    capacity = past_capacity if windowed else max(total, past_capacity)
    if windowed and capacity < local_window_size:
        raise Refused("the windowed cache is smaller than the window")
    entries = _entries(seqlens_k, query_seqlens, batch, rows, total, capacity, windowed)
    first_prompt = rows == total and query_seqlens is None

    if q_norm_weight is not None:
        q_epsilon = qk_norm_epsilon if q_norm_epsilon is None else q_norm_epsilon
        k_epsilon = qk_norm_epsilon if k_norm_epsilon is None else k_norm_epsilon
        q = rms_rows(q, float64(q_norm_weight), q_epsilon)
        k = rms_rows(k, float64(k_norm_weight), k_epsilon)

    element = np.asarray(query).dtype
    stored_type = element if past_key is None else past_key.dtype
    bits = 0 if k_quant_type == "NONE" else kv_cache_bit_width
    key_format, value_format = (
        CacheFormat(
            stored_type,
            element,
            head_size,
            bits,
            _cache_scale(factor, kind, kv_num_heads, head_size),
        )
        for factor, kind in ((k_scale, k_quant_type), (v_scale, v_quant_type))
    )
    present_key = _empty_cache(past_key, batch, kv_num_heads, capacity, key_format, in_place)
    present_value = _empty_cache(past_value, batch, kv_num_heads, capacity, value_format, in_place)
    present_rows = np.zeros((batch, capacity), bool)

    band = Band()
    if causal:
        band = Band(None if local_window_size < 0 else local_window_size - 1, 0)
    if not scale:
        scale = 1.0 / np.sqrt(head_size)
    sinks = _sinks(head_sink, smooth_softmax, num_heads)
    bias = _bias(attention_bias, batch, num_heads, rows, total)
    group = num_heads // kv_num_heads

    output = np.zeros((batch, num_heads, rows, head_size))
    scores = np.zeros((batch, num_heads, rows, total))
    for b, entry in enumerate(entries):
        new_query, new_key = q[b], k[b]
        new_rows = min(entry.rows, k.shape[2])
        if do_rotary:
            positions = entry.start + np.arange(entry.rows)
            if position_ids is not None:
                ids = np.asarray(position_ids)
                positions = ids[b, : entry.rows]
                if first_prompt:
                    positions = ids[0, 0] + np.arange(entry.rows)
            cos = rows_at(float64(cos_cache), positions)
            sin = rows_at(float64(sin_cache), positions)
            new_query = rotate(new_query[:, : entry.rows], cos, sin, rotary_interleaved)
            new_key = new_key[:, :new_rows]
            new_key = rotate(new_key, cos[:new_rows], sin[:new_rows], rotary_interleaved)
        written_key = key_format.encode(new_key[:, :new_rows])
        written_value = value_format.encode(v[b, :, :new_rows])

        # The keys that this call attends, as stored; row i stands at position first_position + i.
        if windowed:
            kept = resident_rows(entry.start, capacity, local_window_size)
        elif k.shape[2] == 0:
            kept = entry.length
        else:
            kept = entry.start
        first_position = entry.start - kept if windowed else 0
        stored_key, stored_value = written_key, written_value
        if past_key is not None:
            stored_key = np.concatenate([past_key[b, :, :kept], written_key], axis=1)
            stored_value = np.concatenate([past_value[b, :, :kept], written_value], axis=1)

        # What stays of them.
        stay = stored_key.shape[1]
        if windowed:
            stay = resident_rows(entry.length, capacity, local_window_size)
        first_kept = stored_key.shape[1] - stay
        present_key[b, :, :stay] = stored_key[:, first_kept:]
        present_value[b, :, :stay] = stored_value[:, first_kept:]
        present_rows[b, :stay] = True

        # A ragged first prompt writes rows that no query sees.
        visible_count = entry.length - first_position
        keys = key_format.decode(stored_key)[:, :visible_count]
        values = value_format.decode(stored_value)[:, :visible_count]
        columns = slice(first_position, first_position + keys.shape[1])
        for h, s in np.ndindex(num_heads, entry.rows):
            visible = visible_columns(
                band, entry.start + s - first_position, visible_count, visible_count
            )
            row = attend_row(
                new_query[h, s],
                keys[h // group],
                values[h // group],
                visible,
                scale=scale,
                softcap=softcap,
                bias=None if bias is None else bias[b, h, s, columns],
                sink=None if sinks is None else sinks[h],
            )
            output[b, h, s] = row.output
            if qk_output == 1:
                scores[b, h, s, columns] = np.where(visible, row.biased, 0.0)
            elif qk_output == 2:
                scores[b, h, s, columns] = row.weights
    return GqaResult(merge_heads(output), present_key, present_value, scores, present_rows)


def _heads(query, key, value, num_heads, kv_num_heads):
    """q (B, N, S, H), k and v (B, K, L, H) from separate or packed inputs."""
    if (key is None) != (value is None):
        raise Refused("key and value go together")
    query = float64(query)
    if key is not None:
        q = split_heads(query, num_heads)
        return q, split_heads(float64(key), kv_num_heads), split_heads(float64(value), kv_num_heads)
    packed = split_heads(query, num_heads + 2 * kv_num_heads)
    return np.split(packed, [num_heads, num_heads + kv_num_heads], axis=1)


def _entries(seqlens_k, query_seqlens, batch, rows, total, capacity, windowed):
    lengths = np.asarray(seqlens_k, np.int64)
    if lengths.size != batch or lengths.ndim == 0:
        raise Refused(f"seqlens_k must have {batch} elements")
    lengths = lengths.reshape(-1) + 1
    limit = total if windowed else min(total, capacity)
    if batch and (lengths.min() < 1 or lengths.max() > limit):
        raise Refused(f"seqlens_k is out of range [0, {limit})")

    entries = []
    for b in range(batch):
        length = int(lengths[b])
        if query_seqlens is not None:
            valid = int(np.asarray(query_seqlens)[b])
            if not 0 <= valid <= min(rows, length):
                raise Refused(f"query_seqlens[{b}] = {valid} is out of range")
            start = length - valid
            if not windowed and start + rows > capacity:
                raise Refused("the padded chunk does not fit the cache")
            entries.append(Entry(start, length, valid))
            continue
        first_prompt = rows == total and not windowed
        if not first_prompt and length < rows:
            raise Refused(f"seqlens_k[{b}] is too small for {rows} query rows")
        entries.append(Entry(0 if first_prompt else length - rows, length, rows))
    return entries


def _cache_scale(scale, kind, kv_num_heads, head_size):
    if kind == "NONE":
        return None
    scale = float64(scale)
    if kind == "PER_TENSOR":
        return scale.reshape(-1)[0]
    return scale.reshape(kv_num_heads, 1, head_size)


def _empty_cache(past, batch, kv_num_heads, capacity, cache_format, in_place):
    if in_place:
        if past is None or past.shape[2] != capacity:
            raise Refused("a shared buffer needs the capacity of present")
        return np.array(past)
    return np.zeros((batch, kv_num_heads, capacity, cache_format.width()), cache_format.dtype)


def _sinks(head_sink, smooth_softmax, num_heads):
    if head_sink is not None:
        return float64(head_sink)
    return np.zeros(num_heads) if smooth_softmax == 1 else None


def _bias(attention_bias, batch, num_heads, rows, total):
    if attention_bias is None:
        return None
    bias = float64(attention_bias)
    fits = bias.ndim == 4 and bias.shape[2:] == (rows, total)
    if not fits or bias.shape[0] not in (1, batch) or bias.shape[1] not in (1, num_heads):
        raise Refused("attention_bias must be (B or 1, N or 1, S, total)")
    return np.broadcast_to(bias, (batch, num_heads, rows, total))
