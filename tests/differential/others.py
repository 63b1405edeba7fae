"""Random calls of MultiHeadAttention and TensorScatter."""

import numpy as np

from tests.reference import multi_head_attention, tensor_scatter
from tests.reference.selftest import MHA_INPUTS

from .call import BFLOAT16, Call, TOLERANCE, between, chance, element_type, masked, normal, pick


def random_mha(rng):
    heads, head_size = pick(rng, 1, 2, 3), pick(rng, 8, 8, 4, 16, 5, 64)
    batch, rows, keys = pick(rng, 1, 2, 3), between(rng, 1, 7), between(rng, 1, 12)
    value_size = pick(rng, head_size, head_size, 4, 12)
    dtype = element_type(rng)
    form = pick(rng, "separate", "separate", "4-D", "packed", "packed KV")
    past = between(rng, 0, 6) if form in ("separate", "4-D") and chance(rng, 0.4) else None
    if form == "packed":
        keys = rows
    if form != "separate":
        value_size = head_size
    feeds, dims, attributes = {}, {}, {"num_heads": heads}
    if form == "packed":
        feeds["query"] = normal(rng, (batch, rows, heads, 3, head_size), dtype)
    else:
        feeds["query"] = normal(rng, (batch, rows, heads * head_size), dtype)
    if form == "packed KV":
        feeds["key"] = normal(rng, (batch, keys, heads, 2, head_size), dtype)
    elif form == "4-D":
        feeds["key"] = normal(rng, (batch, heads, keys, head_size), dtype)
        feeds["value"] = normal(rng, (batch, heads, keys, head_size), dtype)
    elif form == "separate":
        feeds["key"] = normal(rng, (batch, keys, heads * head_size), dtype)
        feeds["value"] = normal(rng, (batch, keys, heads * value_size), dtype)
    for name, length in (("query", "rows"), ("key", "keys"), ("value", "keys")):
        dims[name] = ["batch", None, "keys"] if form == "4-D" and name != "query" else ["batch", length]
    if past is not None:
        feeds["past_key"] = normal(rng, (batch, heads, past, head_size), dtype)
        feeds["past_value"] = normal(rng, (batch, heads, past, value_size), dtype)
        dims["past_key"] = dims["past_value"] = ["batch", None, "past"]
    if chance(rng, 0.4):
        feeds["bias"] = normal(rng, heads * (2 * head_size + value_size), dtype)
    total = keys + (past or 0)
    if chance(rng, 0.4) and not form.startswith("packed"):
        _padding(rng, feeds, dims, batch, keys, total)
    if chance(rng, 0.4):
        shape = (pick(rng, 1, batch), pick(rng, 1, heads), rows, total)
        feeds["attention_bias"] = masked(rng, shape, dtype)
        dims["attention_bias"] = [None if shape[0] == 1 else "batch", None, "rows", "total"]
    if chance(rng, 0.3):
        attributes["unidirectional"] = 1
    if chance(rng, 0.3):
        attributes["scale"] = 0.3
    feeds = {name: feeds[name] for name in MHA_INPUTS if name in feeds}
    result = multi_head_attention(**feeds, **attributes)
    outputs = {"output": (dtype, result.output)}
    present = past is not None or chance(rng, 0.3)
    for name in ("present_key", "present_value"):
        outputs[name] = (dtype, getattr(result, name)) if present else None
    if chance(rng, 0.2):
        outputs["qk"] = (dtype, result.qk)
    constants = {"bias"} if chance(rng, 0.7) else set()
    return Call("MultiHeadAttention", "com.microsoft", 21, MHA_INPUTS, feeds, dims, attributes,
                outputs, constants=constants & set(feeds))


def _padding(rng, feeds, dims, batch, keys, total):
    form = pick(rng, "lengths", "new", "all")
    if form == "lengths":
        feeds["key_padding_mask"] = rng.integers(0, total + 1, batch).astype(np.int32)
        dims["key_padding_mask"] = ["batch"]
        return
    columns = keys if form == "new" else total
    feeds["key_padding_mask"] = (rng.random((batch, columns)) < 0.7).astype(np.int32)
    dims["key_padding_mask"] = ["batch", "keys" if columns == keys else "total"]


def random_scatter(rng):
    dtype = np.dtype(pick(rng, np.float32, np.float16, BFLOAT16, np.int8, np.uint8, np.int64, bool))
    rank = pick(rng, 3, 4, 4)
    axis = between(rng, 1, rank - 1)
    shape = [pick(rng, 1, 2, 3)] + [between(rng, 1, 5) for _ in range(rank - 1)]
    shape[axis] = capacity = between(rng, 1, 9)
    count = between(rng, 0, capacity)
    update_shape = shape[:axis] + [count] + shape[axis + 1:]
    mode = pick(rng, "linear", "circular")
    feeds = {}
    for name, size in (("past_cache", shape), ("update", update_shape)):
        feeds[name] = (10 * rng.standard_normal(size)).clip(0, 100).astype(dtype)
    if chance(rng, 0.8):
        highest = capacity - count if mode == "linear" else pick(rng, capacity, 2**62)
        feeds["write_indices"] = rng.integers(0, highest + 1, shape[0]).astype(np.int64)
    attributes = {"axis": pick(rng, axis, axis - rank)}
    if mode == "circular" or chance(rng, 0.5):
        attributes["mode"] = mode
    present = tensor_scatter(**feeds, **attributes)
    dims = {"past_cache": ["batch"], "update": ["batch"] + [None] * rank, "write_indices": ["batch"]}
    dims["update"][axis] = "rows"
    call = Call("TensorScatter", "", 24, ["past_cache", "update", "write_indices"], feeds, dims,
                attributes, {"present_cache": (dtype, present)}, in_place=chance(rng, 0.4))
    call.tolerance = TOLERANCE.get(dtype, 0)
    return call
