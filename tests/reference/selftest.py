"""python -m tests.reference.selftest [--count N]

Compares the reference with onnxruntime on random configurations, wherever onnxruntime follows the
rules, and with the node tests of the onnx package. Prints one line per group; exit status 1 on a
difference.
"""

import argparse
import sys
import warnings

import ml_dtypes
import numpy as np

from . import (
    attention,
    contrib_rotary_embedding,
    group_query_attention,
    multi_head_attention,
    rms_normalization,
    rotary_embedding,
    skip_simplified_layer_normalization,
    tensor_scatter,
)
from .onnx_model import Value, model, node, run_onnxruntime

TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float16): 6e-3}

GQA_INPUTS = (
    "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache"
    " position_ids attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight"
    " query_seqlens"
).split()
GQA_OUTPUTS = "output present_key present_value output_qk".split()
ATTENTION_INPUTS = (
    "Q K V attn_mask past_key past_value nonpad_kv_seqlen".split()
)
ATTENTION_OUTPUTS = "Y present_key present_value qk_matmul_output".split()
MHA_INPUTS = (
    "query key value bias key_padding_mask attention_bias past_key past_value".split()
)
MHA_OUTPUTS = "output present_key present_value qk".split()


def run_node(op_type, domain, version, slots, outputs, feeds, attributes, output_types):
    """Runs one node with onnxruntime; absent inputs are None in `feeds` or missing from it."""
    feeds = {name: array for name, array in feeds.items() if array is not None}
    present = [name for name in slots if name in feeds]
    call = node(
        op_type,
        [name if name in feeds else None for name in slots],
        outputs,
        "node",
        domain,
        **attributes,
    )
    proto = model(
        [call],
        [Value(name, feeds[name].dtype, [None] * feeds[name].ndim) for name in present],
        [Value(name, output_types[name]) for name in outputs if name],
        opsets={"": version} | ({domain: 1} if domain else {}),
    )
    return run_onnxruntime(proto, feeds)


def difference(got, want):
    """Largest error relative to 1 + |want|; infinite where NaN or shapes disagree."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - want) / (1 + np.abs(want)))
    error = np.where(np.isnan(error), np.inf, error)
    return error.max(initial=0.0)


class Group:
    """Counts comparisons of one kind and keeps the first failure."""

    def __init__(self, name):
        self.name, self.count, self.worst, self.failure = name, 0, 0.0, None

    def check(self, label, pairs, tolerance):
        self.count += 1
        for output, (got, want) in pairs.items():
            error = difference(got, want)
            if error > tolerance and self.failure is None:
                self.failure = f"{output} off by {error:.2e} in {label}"
            if np.isfinite(error):
                self.worst = max(self.worst, error)

    def report(self):
        state = self.failure or f"largest error {self.worst:.1e}"
        print(f"{self.name}: {self.count} compared, {state}")
        return self.failure is None


def random_gqa(rng):
    """A configuration that onnxruntime accepts: (feeds, attributes)."""
    kv_heads = int(rng.choice([1, 2]))
    heads = kv_heads * int(rng.choice([1, 2, 3]))
    head_size = int(rng.choice([16, 32]))
    dtype = np.float16 if rng.random() < 0.2 else np.float32
    form = rng.choice(["prompt", "ragged prompt", "decode", "ragged decode", "chunk", "queries"])
    batch = 1 if form == "chunk" else int(rng.choice([1, 2, 3]))
    rows = 1 if "decode" in form else int(rng.integers(2, 7))
    quantised = dtype == np.float32 and rng.random() < 0.25
    window = int(rng.choice([-1, -1, 1, 2, 4]))

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    feeds = {}
    if form == "prompt":
        total, lengths = rows, np.full(batch, rows)
        capacity = int(rng.choice([0, rows, rows + 3]))
    elif form == "ragged prompt":
        total, capacity = rows, int(rng.choice([0, rows + 3]))
        lengths = rng.integers(1, rows + 1, batch)
        window = -1
    else:
        past = int(rng.integers(1, 9))
        total = past + rows
        capacity = int(rng.choice([past, total + 3]))
        lengths = np.full(batch, total)
        if form in ("ragged decode", "queries"):
            lengths = rng.integers(rows, total + 1, batch)
        if form == "queries":
            capacity = total + rows
            feeds["query_seqlens"] = rng.integers(0, rows + 1, batch).astype(np.int32)
            lengths = np.maximum(lengths, feeds["query_seqlens"])
    if quantised and capacity == 0:
        quantised = False

    attributes = {"num_heads": heads, "kv_num_heads": kv_heads}
    if rng.random() < 0.4:
        feeds["query"] = normal(batch, rows, (heads + 2 * kv_heads) * head_size)
    else:
        feeds["query"] = normal(batch, rows, heads * head_size)
        feeds["key"] = normal(batch, rows, kv_heads * head_size)
        feeds["value"] = normal(batch, rows, kv_heads * head_size)
    if capacity:
        shape = (batch, kv_heads, capacity, head_size)
        if quantised:
            bits = int(rng.choice([4, 8]))
            kind = str(rng.choice(["PER_TENSOR", "PER_CHANNEL"]))
            attributes |= {
                "kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind,
            }
            size = (1,) if kind == "PER_TENSOR" else (1, kv_heads, 1, head_size)
            for name in ("k_scale", "v_scale"):
                feeds[name] = rng.uniform(0.3, 0.6, size).astype(np.float32) * 16 / 2**bits
            for name in ("past_key", "past_value"):
                if bits == 8:
                    feeds[name] = rng.integers(-100, 100, shape).astype(np.int8)
                else:
                    packed = shape[:3] + (head_size // 2,)
                    feeds[name] = rng.integers(0, 256, packed).astype(np.uint8)
        else:
            feeds["past_key"], feeds["past_value"] = normal(*shape), normal(*shape)
    feeds["seqlens_k"] = (lengths - 1).astype(np.int32)
    feeds["total_sequence_length"] = np.array(total, np.int32)

    if rng.random() < 0.6:
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.random() < 0.3)}
        channels = int(rng.choice([16, head_size]))
        angles = rng.uniform(0, 6, (total + 8, channels // 2))
        feeds["cos_cache"] = np.cos(angles).astype(dtype)
        feeds["sin_cache"] = np.sin(angles).astype(dtype)
        if rng.random() < 0.3:
            feeds["position_ids"] = rng.integers(0, 3, (batch, rows)).astype(np.int64)
    if rng.random() < 0.4:
        shape = (int(rng.choice([1, batch])), int(rng.choice([1, heads])), rows, total)
        feeds["attention_bias"] = normal(*shape)
    if rng.random() < 0.2:
        feeds["head_sink"] = normal(heads)
    elif rng.random() < 0.2:
        attributes["smooth_softmax"] = 1
    if window >= 0:
        attributes["local_window_size"] = window
    elif rng.random() < 0.2 and form in ("prompt", "decode"):
        attributes["causal"] = 0
    if rng.random() < 0.2:
        attributes["softcap"] = 2.0
    if rng.random() < 0.2:
        attributes["scale"] = 0.5
    # Elsewhere onnxruntime fills hidden score columns from stale memory, or refuses.
    if rng.random() < 0.3 and form in ("prompt", "decode", "chunk") and not quantised:
        attributes["qk_output"] = int(rng.choice([1, 2]))
    return feeds, attributes


def compare_gqa(count, rng):
    group = Group("GroupQueryAttention")
    for index in range(count):
        feeds, attributes = random_gqa(rng)
        dtype = feeds["query"].dtype
        cache_type = feeds.get("past_key", feeds["query"]).dtype
        outputs = GQA_OUTPUTS if "qk_output" in attributes else GQA_OUTPUTS[:3]
        types = dict(zip(GQA_OUTPUTS, (dtype, cache_type, cache_type, dtype)))
        got = run_node(
            "GroupQueryAttention", "com.microsoft", 21, GQA_INPUTS, outputs, feeds, attributes,
            types,
        )
        want = group_query_attention(**feeds, **attributes)
        pairs = {name: (got[name], getattr(want, name)) for name in outputs}
        if "query_seqlens" in feeds:                # rows after it are unspecified there
            valid = np.arange(got["output"].shape[1]) < feeds["query_seqlens"][:, None]
            pairs["output"] = (got["output"][valid], want.output[valid])
        label = f"{index}: {attributes} {[(n, a.shape) for n, a in feeds.items()]}"
        group.check(label, pairs, TOLERANCE[dtype])
    return group.report()


def compare_windowed_gqa(count, rng):
    """sliding_window_cache: a run of steps, each fed the present of the one before."""
    group = Group("GroupQueryAttention, windowed cache")
    for index in range(count):
        heads, kv_heads, head_size, window = 2, 1, 16, int(rng.integers(1, 6))
        capacity = window + int(rng.integers(0, 4))
        batch = int(rng.choice([1, 2]))
        cache = {
            name: np.zeros((batch, kv_heads, capacity, head_size), np.float32)
            for name in ("past_key", "past_value")
        }
        attributes = {
            "num_heads": heads, "kv_num_heads": kv_heads, "local_window_size": window,
            "sliding_window_cache": 1,
        }
        total = 0
        for step in range(5):
            rows = int(rng.integers(1, 8)) if step == 0 or batch == 1 else 1
            total += rows
            feeds = {
                name: rng.standard_normal((batch, rows, n * head_size)).astype(np.float32)
                for name, n in (("query", heads), ("key", kv_heads), ("value", kv_heads))
            }
            feeds |= cache | {
                "seqlens_k": np.full(batch, total - 1, np.int32),
                "total_sequence_length": np.array(total, np.int32),
            }
            types = dict.fromkeys(GQA_OUTPUTS, np.float32)
            got = run_node(
                "GroupQueryAttention", "com.microsoft", 21, GQA_INPUTS, GQA_OUTPUTS[:3],
                feeds, attributes, types,
            )
            want = group_query_attention(**feeds, **attributes)
            held = want.present_rows[:, None, :, None]
            pairs = {
                "output": (got["output"], want.output),
                "present_key": (np.where(held, got["present_key"], 0), want.present_key),
                "present_value": (np.where(held, got["present_value"], 0), want.present_value),
            }
            group.check(f"{index} step {step} {attributes} rows {rows}", pairs, 2e-5)
            cache = {"past_key": want.present_key, "past_value": want.present_value}
    return group.report()


def random_attention(rng, opset):
    """A configuration in which onnxruntime is right: (feeds, attributes)."""
    kv_heads = int(rng.choice([1, 2]))
    heads = kv_heads * int(rng.choice([1, 2]))
    head_size, value_size = int(rng.choice([4, 8])), int(rng.choice([4, 8, 6]))
    batch, rows, keys = int(rng.choice([1, 2])), int(rng.integers(1, 6)), int(rng.integers(1, 8))
    dtype = np.float16 if rng.random() < 0.2 else np.float32

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    feeds, attributes = {}, {}
    past = int(rng.choice([0, 0, 3]))
    nonpad = opset >= 24 and past == 0 and rng.random() < 0.4
    if rng.random() < 0.5:
        feeds["Q"] = normal(batch, heads, rows, head_size)
        feeds["K"] = normal(batch, kv_heads, keys, head_size)
        feeds["V"] = normal(batch, kv_heads, keys, value_size)
    else:
        feeds["Q"] = normal(batch, rows, heads * head_size)
        feeds["K"] = normal(batch, keys, kv_heads * head_size)
        feeds["V"] = normal(batch, keys, kv_heads * value_size)
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if past:
        feeds["past_key"] = normal(batch, kv_heads, past, head_size)
        feeds["past_value"] = normal(batch, kv_heads, past, value_size)
    if nonpad:
        feeds["nonpad_kv_seqlen"] = rng.integers(0, keys + 1, batch).astype(np.int64)
    shape = (batch, heads, rows, past + keys)
    masked = rng.random()
    if masked < 0.6:
        lead = [1 if rng.random() < 0.5 else n for n in shape[:2]]
        mask_shape = tuple(lead) + shape[2:]
        mask_shape = mask_shape[int(rng.integers(0, 3)) :]
        if masked < 0.3:
            feeds["attn_mask"] = rng.random(mask_shape) < 0.6
        else:
            mask = normal(*mask_shape)
            mask[rng.random(mask_shape) < 0.2] = -np.inf
            feeds["attn_mask"] = mask
    # One query row over a past is where onnxruntime drops the causal mask.
    if rng.random() < 0.5 and not (past and rows == 1):
        attributes["is_causal"] = 1
    if rng.random() < 0.3:
        attributes["softcap"] = 2.0
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    if opset >= 25:
        if rng.random() < 0.5:
            attributes["left_window_size"] = int(rng.integers(0, 4))
        if rng.random() < 0.5:
            attributes["right_window_size"] = int(rng.integers(0, 4))
    if rng.random() < 0.4:
        modes = [0, 1, 3] if opset < 25 else [0, 1, 2, 3]
        attributes["qk_matmul_output_mode"] = int(rng.choice(modes))
    return feeds, attributes


def compare_attention(count, rng):
    good = True
    for opset in (23, 24, 25):
        group = Group(f"Attention {opset}")
        for index in range(count):
            feeds, attributes = random_attention(rng, opset)
            dtype = feeds["Q"].dtype
            outputs = ["Y", None, None, None]
            if "past_key" in feeds or ("nonpad_kv_seqlen" not in feeds and rng.random() < 0.3):
                outputs[1:3] = ATTENTION_OUTPUTS[1:3]
            if "qk_matmul_output_mode" in attributes:
                outputs[3] = ATTENTION_OUTPUTS[3]
            types = dict.fromkeys(ATTENTION_OUTPUTS, dtype)
            got = run_node(
                "Attention", "", opset, ATTENTION_INPUTS, outputs, feeds, attributes, types
            )
            want = attention(**feeds, **attributes)
            pairs = {}
            for name in filter(None, outputs):
                reference = getattr(want, name)
                if name.startswith("present") and feeds["Q"].ndim == 3 and got[name].ndim == 3:
                    reference = reference.transpose(0, 2, 1, 3).reshape(got[name].shape)
                pairs[name] = (got[name], reference)
            label = f"{index}: {attributes} {[(n, a.shape) for n, a in feeds.items()]}"
            group.check(label, pairs, TOLERANCE[dtype])
        good &= group.report()
    return good


def random_mha(rng):
    heads, head_size, batch = 2, 8, int(rng.choice([1, 2]))
    rows, keys = int(rng.integers(1, 6)), int(rng.integers(1, 7))
    value_size = int(rng.choice([8, 4]))

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    feeds, attributes, past = {}, {"num_heads": heads}, 0
    form = rng.choice(["separate", "4-D"])              # it has no packed forms on the CPU
    feeds["query"] = normal(batch, rows, heads * head_size)
    if form == "separate":
        if rng.random() < 0.4:
            past, value_size = 3, head_size
            feeds["past_key"] = normal(batch, heads, past, head_size)
            feeds["past_value"] = normal(batch, heads, past, value_size)
        feeds["key"] = normal(batch, keys, heads * head_size)
        feeds["value"] = normal(batch, keys, heads * value_size)
    else:
        value_size = head_size
        feeds["key"] = normal(batch, heads, keys, head_size)
        feeds["value"] = normal(batch, heads, keys, head_size)
    if rng.random() < 0.4:
        feeds["bias"] = normal(heads * (2 * head_size + value_size))
    # A row that padding hides wholly is kept alive by a finite filler there: the first key stays.
    if form == "separate" and rng.random() < 0.4:
        if rng.random() < 0.5:
            feeds["key_padding_mask"] = rng.integers(1, past + keys + 1, batch).astype(np.int32)
        else:
            mask = (rng.random((batch, past + keys)) < 0.6).astype(np.int32)
            mask[:, 0] = 1
            feeds["key_padding_mask"] = mask
    if rng.random() < 0.4:
        shape = (int(rng.choice([1, batch])), int(rng.choice([1, heads])), rows, past + keys)
        feeds["attention_bias"] = normal(*shape)
    if rng.random() < 0.3 and form == "separate" and rows == keys:
        attributes["unidirectional"] = 1
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    return feeds, attributes


def compare_mha(count, rng):
    group = Group("MultiHeadAttention")
    for index in range(count):
        feeds, attributes = random_mha(rng)
        outputs = MHA_OUTPUTS[:3] if "past_key" in feeds else MHA_OUTPUTS[:1]
        if "key_padding_mask" not in feeds and "unidirectional" not in attributes:
            outputs = (outputs + [None, None])[:3] + MHA_OUTPUTS[3:]
        types = dict.fromkeys(MHA_OUTPUTS, np.float32)
        label = f"{index}: {attributes} {[(n, a.shape) for n, a in feeds.items()]}"
        got = run_node(
            "MultiHeadAttention", "com.microsoft", 21, MHA_INPUTS, outputs, feeds, attributes, types
        )
        want = multi_head_attention(**feeds, **attributes)
        pairs = {name: (got[name], getattr(want, name)) for name in filter(None, outputs)}
        group.check(label, pairs, 2e-5)
    return group.report()


def compare_small_operators(count, rng):
    group = Group("rotary, norms, scatter")
    for index in range(count):
        batch, heads, rows, head_size = 2, 2, int(rng.integers(1, 5)), 8
        x = rng.standard_normal((batch, heads, rows, head_size)).astype(np.float32)
        angles = rng.uniform(0, 6, (12, head_size // 2))
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        positions = rng.integers(0, 12, (batch, rows)).astype(np.int64)
        attributes = {"interleaved": int(rng.random() < 0.5)}
        if rng.random() < 0.5:
            x = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(batch, rows, -1)
            attributes["num_heads"] = heads
        feeds = {"X": x, "cos": cos, "sin": sin, "positions": positions}
        got = run_node(
            "RotaryEmbedding", "", 23, list(feeds), ["Y"], feeds, attributes, {"Y": np.float32}
        )
        want = rotary_embedding(x, cos, sin, positions, **attributes)
        group.check(f"RotaryEmbedding {index}", {"Y": (got["Y"], want)}, 1e-5)

        if rng.random() < 0.5:
            positions = rng.integers(0, 12 - rows, 1).astype(np.int64)
        feeds = {"X": x, "positions": positions, "cos": cos, "sin": sin}
        got = run_node(
            "RotaryEmbedding", "com.microsoft", 21, list(feeds), ["Y"], feeds, attributes,
            {"Y": np.float32},
        )
        want = contrib_rotary_embedding(x, positions, cos, sin, **attributes)
        group.check(f"com.microsoft RotaryEmbedding {index}", {"Y": (got["Y"], want)}, 1e-5)

        x = rng.standard_normal((2, 3, 8)).astype(np.float32)
        skip, bias = rng.standard_normal((2, 2, 3, 8)).astype(np.float32)
        weight = rng.standard_normal(8).astype(np.float32)
        feeds = {"X": x, "scale": weight}
        for op, version in (("RMSNormalization", 23), ("SimplifiedLayerNormalization", 21)):
            got = run_node(
                op, "", version, list(feeds), ["Y"], feeds, {"epsilon": 1e-6}, {"Y": np.float32}
            )
            want = rms_normalization(x, weight, epsilon=1e-6)
            group.check(f"{op} {index}", {"Y": (got["Y"], want)}, 1e-5)
        feeds = {"input": x, "skip": skip, "gamma": weight, "bias": bias[0, 0]}
        outputs = ["output", None, None, "sum"]
        got = run_node(
            "SkipSimplifiedLayerNormalization", "com.microsoft", 21, list(feeds), outputs, feeds,
            {"epsilon": 1e-6}, dict.fromkeys(("output", "sum"), np.float32),
        )
        want, total = skip_simplified_layer_normalization(**feeds, epsilon=1e-6)
        pairs = {"output": (got["output"], want), "sum": (got["sum"], total)}
        group.check(f"SkipSimplifiedLayerNormalization {index}", pairs, 1e-5)

        cache = rng.standard_normal((3, 2, 5, 4)).astype(np.float32)
        update = rng.standard_normal((3, 2, 2, 4)).astype(np.float32)
        mode = str(rng.choice(["linear", "circular"]))
        indices = rng.integers(0, 4 if mode == "linear" else 20, 3).astype(np.int64)
        feeds = {"past_cache": cache, "update": update, "write_indices": indices}
        got = run_node(
            "TensorScatter", "", 24, list(feeds), ["present"], feeds, {"mode": mode},
            {"present": np.float32},
        )
        want = tensor_scatter(**feeds, mode=mode)
        group.check(f"TensorScatter {index}", {"present": (got["present"], want)}, 0)
    return group.report()


NODE_TESTS = {
    "Attention": (attention, ATTENTION_INPUTS, ATTENTION_OUTPUTS),
    "RotaryEmbedding": (rotary_embedding, "X cos_cache sin_cache position_ids".split(), ["Y"]),
    "RMSNormalization": (rms_normalization, ["X", "scale"], ["Y"]),
    "TensorScatter": (tensor_scatter, "past_cache update write_indices".split(), ["present"]),
}


def compare_node_tests():
    """The onnx package's own tests of these operators."""
    import onnx.backend.test.case.node as node_tests
    from onnx import helper

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = node_tests.collect_testcases(None)
    good = True
    for op_type, (function, inputs, outputs) in NODE_TESTS.items():
        group = Group(f"onnx node tests of {op_type}")
        for case in cases:
            graph = case.model.graph
            if len(graph.node) != 1 or graph.node[0].op_type != op_type:
                continue
            call = graph.node[0]
            attributes = {a.name: helper.get_attribute_value(a) for a in call.attribute}
            if "mode" in attributes:
                attributes["mode"] = attributes["mode"].decode()
            for arrays, expected in case.data_sets:
                by_name = dict(zip([value.name for value in graph.input], map(np.asarray, arrays)))
                feeds = {s: by_name[name] for s, name in zip(inputs, call.input) if name}
                results = function(**feeds, **attributes)
                if not isinstance(results, tuple):
                    results = (results,)
                wanted = dict(zip([value.name for value in graph.output], expected))
                half = any(a.dtype in (np.float16, ml_dtypes.bfloat16) for a in feeds.values())
                pairs = {
                    name: (result, wanted[name])
                    for name, result in zip(call.output, results)
                    if name
                }
                group.check(case.name, pairs, 1e-2 if half else 2e-5)
        good &= group.report()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="random configurations per group")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    good = [
        compare_gqa(2 * options.count, rng),
        compare_windowed_gqa(options.count // 10, rng),
        compare_attention(options.count, rng),
        compare_mha(options.count, rng),
        compare_small_operators(options.count // 5, rng),
        compare_node_tests(),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
