"""Random calls of ai.onnx Attention 23, 24 and 25, and of TensorScatter before it."""

import numpy as np

from tests.reference import attention
from tests.reference.attention import _band, _lengths, _mask
from tests.reference.masks import visible_columns
from tests.reference.selftest import ATTENTION_INPUTS

from .call import BFLOAT16, Call, TOLERANCE, between, chance, element_type, masked, normal, pick


def random_attention(rng):
    opset = pick(rng, 23, 24, 24, 25, 25)
    kv_heads = pick(rng, 1, 2, 2, 3)
    heads = kv_heads * pick(rng, 1, 2, 2, 4, 8)
    head_size = pick(rng, 8, 8, 16, 4, 3, 12, 32, 40, 64, 128)
    value_size = pick(rng, head_size, head_size, 8, 5, 24)
    batch = pick(rng, 1, 2, 2, 3, 0 if chance(rng, 0.2) else 1)
    rows = pick(rng, 1, 1, between(rng, 2, 7), between(rng, 2, 7), 0 if chance(rng, 0.2) else 3)
    keys = between(rng, 1, 12)
    if chance(rng, 0.06):
        rows, keys = between(rng, 1, 40), between(rng, 60, 300)
    if chance(rng, 0.02):
        rows, keys = between(rng, 1, 3), between(rng, 1030, 1300)
    past = pick(rng, None, None, None, 0, between(rng, 1, 9))
    if past and chance(rng, 0.1) or chance(rng, 0.02):
        keys = 0
    dtype = np.dtype(np.float64) if chance(rng, 0.03) else element_type(rng)
    value_type = dtype
    if chance(rng, 0.05) and dtype != np.float64:
        value_type = np.dtype(pick(rng, np.float32, np.float16, BFLOAT16))

    feeds, attributes, dims = {}, {}, {}
    _heads(rng, feeds, dims, attributes, batch, rows, keys, heads, kv_heads, head_size, value_size,
           dtype, value_type)
    if past is not None:
        feeds["past_key"] = normal(rng, (batch, kv_heads, past, head_size), dtype)
        feeds["past_value"] = normal(rng, (batch, kv_heads, past, value_size), value_type)
        dims["past_key"] = dims["past_value"] = ["batch", None, "past", None]
    elif opset >= 24 and chance(rng, 0.4):
        feeds["nonpad_kv_seqlen"] = rng.integers(0, keys + 1, batch).astype(np.int64)
        dims["nonpad_kv_seqlen"] = ["batch"]
    if chance(rng, 0.55):
        _attention_mask(rng, feeds, dims, (batch, heads, rows, keys + (past or 0)), dtype)
    _attributes(rng, attributes, opset)

    feeds = {name: feeds[name] for name in ATTENTION_INPUTS if name in feeds}
    if chance(rng, 0.35):
        _poison(rng, feeds, attributes)
    wants_scores = chance(rng, 0.3)
    if wants_scores and chance(rng, 0.8):
        attributes["qk_matmul_output_mode"] = between(rng, 0, 3)
    with np.errstate(invalid="ignore"):
        result = attention(**feeds, **attributes)
    present = pick(rng, "both", "both", "both", "key", "none")
    outputs = {
        "Y": (dtype, result.Y),
        "present_key": (dtype, result.present_key) if present != "none" else None,
        "present_value": (value_type, result.present_value) if present == "both" else None,
    }
    if wants_scores:
        outputs["qk_matmul_output"] = (dtype, result.qk_matmul_output)
    in_place = past is not None and present == "both" and chance(rng, 0.4)
    call = Call("Attention", "", opset, ATTENTION_INPUTS, feeds, dims, attributes, outputs,
                in_place=in_place)
    call.tolerance = max(TOLERANCE[dtype], TOLERANCE[value_type])
    return call


def _heads(rng, feeds, dims, attributes, batch, rows, keys, heads, kv_heads, head_size, value_size,
           dtype, value_type):
    three_axes = chance(rng, 0.5)
    sizes = (("Q", rows, heads, head_size, dtype), ("K", keys, kv_heads, head_size, dtype),
             ("V", keys, kv_heads, value_size, value_type))
    for name, count, groups, width, kind in sizes:
        length = "rows" if name == "Q" else "keys"
        if three_axes:
            feeds[name] = normal(rng, (batch, count, groups * width), kind)
            dims[name] = ["batch", length, None]
        else:
            feeds[name] = normal(rng, (batch, groups, count, width), kind)
            dims[name] = ["batch", None, length, None]
    if three_axes or chance(rng, 0.1):
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}


def _attention_mask(rng, feeds, dims, shape, dtype):
    rank = between(rng, 1, 4)
    names = ["batch", None, "rows", "total"]
    kept = [chance(rng, 0.6) for _ in range(3)] + [True]
    own = [size if keep else 1 for size, keep in zip(shape, kept)]
    names = [name if keep and size != 1 else None for name, keep, size in zip(names, kept, own)]
    if shape[3] and chance(rng, 0.25):
        own[3] = between(rng, 1, shape[3])
        names[3] = "mask_columns" if own[3] != shape[3] else "total"
    own, names = own[4 - rank:], names[4 - rank:]
    if chance(rng, 0.5):
        mask = rng.random(own) < pick(rng, 0.3, 0.7)
    else:
        kind = np.dtype(np.float32) if dtype == np.float64 or chance(rng, 0.15) else dtype
        mask = masked(rng, own, kind)
    feeds["attn_mask"], dims["attn_mask"] = mask, names


def _attributes(rng, attributes, opset):
    if chance(rng, 0.5):
        attributes["is_causal"] = 1
    if chance(rng, 0.25):
        attributes["softcap"] = pick(rng, 0.7, 2.0, 30.0, -1.0)
    if chance(rng, 0.25):
        attributes["scale"] = pick(rng, 0.25, -0.3, 0.0)
    if chance(rng, 0.1):
        attributes["softmax_precision"] = pick(rng, 1, 10, 11, 16)
    if opset >= 25:
        for name in ("left_window_size", "right_window_size"):
            if chance(rng, 0.4):
                attributes[name] = between(rng, -1, 4)


def _poison(rng, feeds, attributes):
    """Not a number in keys and values that no query of any head sees."""
    hidden = ~_visible(feeds, attributes)           # (batch, keys)
    bad = pick(rng, np.nan, np.inf)
    past = feeds["past_key"].shape[2] if "past_key" in feeds else 0
    for b in range(hidden.shape[0]):
        for name in ("K", "V"):
            rows = feeds[name][b] if feeds[name].ndim == 3 else feeds[name][b].swapaxes(0, 1)
            rows[hidden[b, past:]] = bad
        for name in ("past_key", "past_value"):
            if name in feeds:
                feeds[name][b][:, hidden[b, :past]] = bad


def _visible(feeds, attributes):
    query, key = feeds["Q"], feeds["K"]
    three_axes = query.ndim == 3
    heads = attributes["q_num_heads"] if three_axes else query.shape[1]
    batch, rows = query.shape[0], query.shape[1 if three_axes else 2]
    past = feeds["past_key"].shape[2] if "past_key" in feeds else 0
    keys = past + key.shape[1 if three_axes else 2]
    lengths, offsets = _lengths(feeds.get("nonpad_kv_seqlen"), batch, rows, keys, past)
    band = _band(attributes.get("is_causal", 0), attributes.get("left_window_size", -1),
                 attributes.get("right_window_size", -1))
    allowed, bias = _mask(feeds.get("attn_mask"), (batch, heads, rows, keys))
    if bias is not None:
        allowed = ~np.isneginf(bias)
    seen = np.zeros((batch, keys), bool)
    for b, s in np.ndindex(batch, rows):
        columns = visible_columns(band, s + offsets[b], lengths[b], keys)
        seen[b] |= columns if allowed is None else columns & allowed[b, :, s].any(axis=0)
    return seen
