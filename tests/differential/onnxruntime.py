"""Random calls with onnxruntime's results, of the configurations in which it is right."""

import numpy as np

from tests.reference.onnx_model import Value, model, run_onnxruntime
from tests.reference.selftest import (
    ATTENTION_INPUTS,
    ATTENTION_OUTPUTS,
    GQA_INPUTS,
    GQA_OUTPUTS,
    MHA_INPUTS,
    MHA_OUTPUTS,
    random_attention,
    random_gqa,
    random_mha,
)

from .call import Call, TOLERANCE, pick


def random_onnxruntime(rng):
    operator = pick(rng, "GroupQueryAttention", "Attention", "MultiHeadAttention")
    call = {"GroupQueryAttention": _gqa, "Attention": _attention, "MultiHeadAttention": _mha}[operator](rng)
    proto = model(
        [call.node()],
        [Value(name, array.dtype, [None] * array.ndim) for name, array in call.feeds.items()],
        [Value(name, found) for name, found in call.outputs.items() if found is not None],
        opsets={"": call.opset} | ({call.domain: 1} if call.domain else {}),
    )
    results = run_onnxruntime(proto, call.feeds)
    call.outputs = {name: found if found is None else (found, results[name])
                    for name, found in call.outputs.items()}
    dtype = next(iter(call.feeds.values())).dtype
    # It rounds the rows of a cache and the scores to f16 on its way.
    call.tolerance = 6e-3 if dtype == np.float16 else TOLERANCE[dtype]
    return call


def _gqa(rng):
    feeds, attributes = random_gqa(rng)
    dtype = feeds["query"].dtype
    cache_type = feeds.get("past_key", feeds["query"]).dtype
    feeds = {name: feeds[name] for name in GQA_INPUTS if name in feeds}
    outputs = dict(zip(GQA_OUTPUTS, (dtype, cache_type, cache_type, dtype)))
    if "qk_output" not in attributes:
        del outputs["output_qk"]
    call = Call("GroupQueryAttention", "com.microsoft", 21, GQA_INPUTS, feeds, {}, attributes, outputs)
    call.dims = {"query": ["batch", "rows"], "key": ["batch", "rows"], "value": ["batch", "rows"],
                 "past_key": ["batch", None, "past"], "past_value": ["batch", None, "past"],
                 "seqlens_k": ["batch"], "position_ids": ["batch", "rows"],
                 "query_seqlens": ["batch"]}
    if "query_seqlens" in feeds:        # it leaves the rows after them as they were
        valid = np.arange(feeds["query"].shape[1]) < feeds["query_seqlens"][:, None]
        call.masks["output"] = valid[:, :, None]
    return call


def _attention(rng):
    opset = pick(rng, 23, 24, 25)
    feeds, attributes = random_attention(rng, opset)
    feeds = {name: feeds[name] for name in ATTENTION_INPUTS if name in feeds}
    dtype = feeds["Q"].dtype
    outputs = dict.fromkeys(ATTENTION_OUTPUTS, dtype)
    if "past_key" not in feeds:
        outputs["present_key"] = outputs["present_value"] = None
    if "qk_matmul_output_mode" not in attributes:
        del outputs["qk_matmul_output"]
    axes = ["batch", "rows"] if feeds["Q"].ndim == 3 else ["batch", None, "rows"]
    dims = {"Q": axes, "K": [name and name.replace("rows", "keys") for name in axes],
            "past_key": ["batch", None, "past"], "past_value": ["batch", None, "past"],
            "nonpad_kv_seqlen": ["batch"]}
    dims["V"] = dims["K"]
    return Call("Attention", "", opset, ATTENTION_INPUTS, feeds, dims, attributes, outputs)


def _mha(rng):
    feeds, attributes = random_mha(rng)
    feeds = {name: feeds[name] for name in MHA_INPUTS if name in feeds}
    dtype = feeds["query"].dtype
    outputs = dict.fromkeys(MHA_OUTPUTS[:3], dtype)
    if "past_key" not in feeds:
        outputs["present_key"] = outputs["present_value"] = None
    dims = {"query": ["batch", "rows"], "past_key": ["batch", None, "past"],
            "past_value": ["batch", None, "past"]}
    return Call("MultiHeadAttention", "com.microsoft", 21, MHA_INPUTS, feeds, dims, attributes, outputs)
