"""Decoders of one or two layers, written as exporters write them.

Hidden size 32, two query heads on one KV head of 16 channels, 40 tokens, random weights.
"""

import numpy as np

from tests.reference.onnx_model import Value, model, node

HIDDEN, HEADS, KV_HEADS, HEAD_SIZE, TOKENS, MLP, POSITIONS = 32, 2, 1, 16, 40, 48, 64
CONTRIB = "com.microsoft"


def resize(**sizes):
    """For measurements: decoders of other sizes than the cases', by the names above."""
    unknown = sizes.keys() - {"HIDDEN", "HEADS", "KV_HEADS", "HEAD_SIZE", "TOKENS", "MLP", "POSITIONS"}
    if unknown:
        raise ValueError(f"no such size: {unknown}")
    globals().update(sizes)


class Graph:
    """Nodes and weights under construction; every method returns the name of what it added."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights = rng, [], {}

    def op(self, op_type, *inputs, outputs=1, name=None, domain="", **attributes):
        """`outputs`: a count, or their names (None where one is absent)."""
        name = name or f"{op_type}_{len(self.nodes)}"
        if isinstance(outputs, int):
            outputs = [f"{name}/output_{index}" for index in range(outputs)]
        self.nodes.append(node(op_type, inputs, outputs, name, domain, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def constant(self, name, array):
        self.weights[name] = np.asarray(array)
        return name

    def weight(self, name, *shape):
        array = self.rng.standard_normal(shape) / np.sqrt(shape[0])
        return self.constant(name, array.astype(np.float32))

    def norm_weight(self, name):
        array = 1 + self.rng.standard_normal(HIDDEN) / 8
        return self.constant(name, array.astype(np.float32))

    def matmul(self, x, name, inner, outer):
        return self.op("MatMul", x, self.weight(name + ".weight", inner, outer), name=name)

    def rope_caches(self):
        half = HEAD_SIZE // 2
        angles = np.arange(POSITIONS)[:, None] * 100.0 ** (-np.arange(half) / half)
        self.constant("cos_cache", np.cos(angles).astype(np.float32))
        self.constant("sin_cache", np.sin(angles).astype(np.float32))
        return "cos_cache", "sin_cache"

    def embed(self):
        weight = self.weight("embed_tokens.weight", TOKENS, HIDDEN)
        self.weights[weight] *= np.float32(np.sqrt(TOKENS))
        return self.op("Gather", weight, "input_ids", name="/embed_tokens/Gather")

    def first_norm(self, x, name):
        return self.op("SimplifiedLayerNormalization", x, self.norm_weight(name + ".weight"),
                       name=name, axis=-1, epsilon=1e-6, stash_type=1)

    def skip_norm(self, x, skip, name):
        """(normalised, sum)."""
        total = name + "/output_3"
        weight = self.norm_weight(name + ".weight")
        result = self.op("SkipSimplifiedLayerNormalization", x, skip, weight, name=name,
                         outputs=[name + "/output_0", None, None, total], domain=CONTRIB,
                         epsilon=1e-6)
        return result[0], total

    def mlp(self, x, prefix, matmul=None):
        matmul = matmul or self.matmul
        gate = matmul(x, f"{prefix}/gate_proj", HIDDEN, MLP)
        up = matmul(x, f"{prefix}/up_proj", HIDDEN, MLP)
        swish = self.op("Mul", gate, self.op("Sigmoid", gate))
        return matmul(self.op("Mul", swish, up), f"{prefix}/down_proj", MLP, HIDDEN)

    def lengths_of_mask(self):
        """(seqlens_k, total_sequence_length) from attention_mask."""
        one = self.constant("one", np.array([1], np.int64))
        count = self.op("ReduceSum", "attention_mask", one, keepdims=0)
        seqlens = self.op("Cast", self.op("Sub", count, one), to=6)
        axis = self.constant("axis", np.array(1, np.int64))
        total = self.op("Gather", self.op("Shape", "attention_mask"), axis, axis=0)
        return seqlens, self.op("Cast", total, to=6)

    def model(self, inputs, outputs, opset=21, contrib=True):
        opsets = {"": opset} | ({CONTRIB: 1} if contrib else {})
        return model(self.nodes, inputs, outputs, initializers=self.weights, opsets=opsets)


def token_inputs():
    return [
        Value("input_ids", np.int64, ["batch_size", "sequence_length"]),
        Value("attention_mask", np.int64, ["batch_size", "total_sequence_length"]),
    ]


def cache_values(kind, layer, length, dtype=np.float32, width=None):
    return [
        Value(f"{kind}.{layer}.{part}", dtype, ["batch_size", KV_HEADS, length, width or HEAD_SIZE])
        for part in ("key", "value")
    ]


def logits_value():
    return Value("logits", np.float32, ["batch_size", "sequence_length", TOKENS])


def genai_decoder(rng, layers=1, matmul=None, past_length=None, **attributes):
    """The graph of onnxruntime-genai's builder: packed QKV into GroupQueryAttention.

    `attributes` of the attention node: a value, or a list with one value for each layer.
    past_length: symbols of the layers' past lengths, if not one for all.
    """
    graph = Graph(rng)
    multiply = (lambda *a: matmul(graph, *a)) if matmul else graph.matmul
    seqlens, total = graph.lengths_of_mask()
    cos, sin = graph.rope_caches()
    x = graph.embed()
    normal = graph.first_norm(x, "/layers.0/input_layernorm")
    inputs, outputs = token_inputs(), [logits_value()]
    for layer in range(layers):
        prefix = f"/layers.{layer}"
        qkv = multiply(normal, f"{prefix}/attn/qkv_proj", HIDDEN,
                       (HEADS + 2 * KV_HEADS) * HEAD_SIZE)
        chosen = {name: value[layer] if isinstance(value, list) else value
                  for name, value in attributes.items()}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        attended = f"{prefix}/attn/GroupQueryAttention/output_0"
        graph.op(
            "GroupQueryAttention", qkv, None, None, f"past_key_values.{layer}.key",
            f"past_key_values.{layer}.value", seqlens, total, cos, sin,
            outputs=[attended, f"present.{layer}.key", f"present.{layer}.value"],
            name=f"{prefix}/attn/GroupQueryAttention", domain=CONTRIB, num_heads=HEADS,
            kv_num_heads=KV_HEADS, scale=HEAD_SIZE**-0.5, do_rotary=1, rotary_interleaved=0,
            **chosen,
        )
        projected = multiply(attended, f"{prefix}/attn/o_proj", HEADS * HEAD_SIZE, HIDDEN)
        normal, x = graph.skip_norm(x, projected, f"{prefix}/post_attention_layernorm")
        result = graph.mlp(normal, f"{prefix}/mlp", multiply)
        normal, x = graph.skip_norm(x, result, f"/layers.{layer + 1}/input_layernorm")
        past = past_length[layer] if past_length else "past_sequence_length"
        present = "total_sequence_length" if past == "past_sequence_length" else past
        inputs += cache_values("past_key_values", layer, past)
        outputs += cache_values("present", layer, present)
    head = multiply(normal, "/lm_head", HIDDEN, TOKENS)
    graph.op("Identity", head, outputs=["logits"], name="/logits")
    return graph.model(inputs, outputs)


def int4_matmul(block_size, with_zero_points, expanded=False):
    """A `matmul` of genai_decoder that multiplies 4-bit weights in blocks along K.

    expanded: the same weights dequantised, in a plain MatMul.
    """

    def multiply(graph, x, name, inner, outer):
        blocks = -(-inner // block_size)
        codes = graph.rng.integers(0, 256, (outer, blocks, block_size // 2)).astype(np.uint8)
        scales = graph.rng.uniform(0.02, 0.06, (outer, blocks)).astype(np.float32)
        zeros = None
        if with_zero_points:
            zeros = graph.rng.integers(0, 256, (outer, -(-blocks // 2))).astype(np.uint8)
        if expanded:
            weight = dequantised(codes, scales, zeros)[:, :inner].T
            return graph.op("MatMul", x, graph.constant(name + ".weight", weight.copy()))
        inputs = [x, graph.constant(name + ".qweight", codes),
                  graph.constant(name + ".scales", scales)]
        if with_zero_points:
            inputs.append(graph.constant(name + ".qzeros", zeros))
        return graph.op("MatMulNBits", *inputs, name=name, domain=CONTRIB, K=inner, N=outer,
                        bits=4, block_size=block_size)

    return multiply


def nibbles(packed):
    """The last axis twice as long: the low nibble of a byte first."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[:-1] + (-1,))


def dequantised(codes, scales, zeros=None):
    """(q - zero point) * scale per block, as (N, blocks * block size)."""
    outer, blocks = scales.shape
    points = np.full((outer, blocks), 8) if zeros is None else nibbles(zeros)[:, :blocks]
    centred = nibbles(codes).astype(np.float32) - points[..., None].astype(np.float32)
    return (centred * scales[..., None]).reshape(outer, -1)


def kv_shared_decoder(rng):
    """Two layers of which the second has no K and V and borrows the first one's cache."""
    graph = Graph(rng)
    seqlens, total = graph.lengths_of_mask()
    cos, sin = graph.rope_caches()
    x = graph.embed()
    normal = graph.first_norm(x, "/layers.0/input_layernorm")
    attributes = dict(domain=CONTRIB, num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1)
    query, key, value = (
        graph.matmul(normal, f"/layers.0/attn/{part}_proj", HIDDEN, heads * HEAD_SIZE)
        for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
    )
    graph.op("GroupQueryAttention", query, key, value, "past_key_values.0.key",
             "past_key_values.0.value", seqlens, total, cos, sin, name="/layers.0/attn/gqa",
             outputs=["/layers.0/attn/out", "present.0.key", "present.0.value"], **attributes)
    projected = graph.matmul("/layers.0/attn/out", "/layers.0/attn/o_proj",
                             HEADS * HEAD_SIZE, HIDDEN)
    normal, x = graph.skip_norm(x, projected, "/layers.1/input_layernorm")

    query = graph.matmul(normal, "/layers.1/attn/q_proj", HIDDEN, HEADS * HEAD_SIZE)
    first = graph.constant("first_axis", np.array([0], np.int64))
    batch = graph.op("Gather", graph.op("Shape", "input_ids"), first, axis=0)
    rest = graph.constant("no_rows", np.array([0, KV_HEADS * HEAD_SIZE], np.int64))
    empty = graph.op("ConstantOfShape", graph.op("Concat", batch, rest, axis=0))
    graph.op("GroupQueryAttention", query, empty, empty, "present.0.key", "present.0.value",
             seqlens, total, cos, sin, name="/layers.1/attn/gqa",
             outputs=["/layers.1/attn/out", "/layers.1/attn/key", "/layers.1/attn/value"],
             **attributes)
    projected = graph.matmul("/layers.1/attn/out", "/layers.1/attn/o_proj",
                             HEADS * HEAD_SIZE, HIDDEN)
    normal, _ = graph.skip_norm(x, projected, "/final_norm")
    head = graph.matmul(normal, "/lm_head", HIDDEN, TOKENS)
    graph.op("Identity", head, outputs=["logits"], name="/logits")
    return graph.model(
        token_inputs() + cache_values("past_key_values", 0, "past_sequence_length"),
        [logits_value()] + cache_values("present", 0, "total_sequence_length"),
    )


def split(graph, x, heads, name):
    """(B, S, heads * H) -> (B, heads, S, H) by Reshape and Transpose."""
    shape = graph.constant(f"{name}_shape", np.array([0, 0, heads, HEAD_SIZE], np.int64))
    return graph.op("Transpose", graph.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def merge(graph, x):
    shape = "merged_shape"
    graph.constant(shape, np.array([0, 0, HEADS * HEAD_SIZE], np.int64))
    return graph.op("Reshape", graph.op("Transpose", x, perm=[0, 2, 1, 3]), shape)


def decomposed_decoder(rng):
    """Attention spelled out: Concat on the past, MatMul, mask by Where, Softmax, MatMul.

    KV heads are repeated by Expand; the mask is causal over the past. Embedded tokens come in.
    """
    graph = Graph(rng)
    x = "inputs_embeds"
    query, key, value = (
        split(graph, graph.matmul(x, f"/attn/{part}_proj", HIDDEN, heads * HEAD_SIZE), heads, part)
        for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
    )
    graph.op("Concat", "past_key_values.0.key", key, outputs=["present.0.key"], axis=2)
    graph.op("Concat", "past_key_values.0.value", value, outputs=["present.0.value"], axis=2)

    def length(name, axis):
        index = graph.constant(f"axis_{axis}", np.array(axis, np.int64))
        return graph.op("Gather", graph.op("Shape", name), index, axis=0)

    past, total = length("past_key_values.0.key", 2), length("present.0.key", 2)
    zero = graph.constant("zero", np.array(0, np.int64))
    one = graph.constant("one", np.array(1, np.int64))
    rows = graph.op("Range", past, total, one)
    columns = graph.op("Range", zero, total, one)
    last_axis = graph.constant("last_axis", np.array([-1], np.int64))
    visible = graph.op("LessOrEqual", columns, graph.op("Unsqueeze", rows, last_axis))
    nothing = graph.constant("nothing", np.array(0, np.float32))
    hidden = graph.constant("hidden", np.array(-np.inf, np.float32))
    mask = graph.op("Where", visible, nothing, hidden)

    def repeat(name):
        new_axis = graph.constant("new_axis", np.array([2], np.int64))
        flat = [graph.constant("flat_0", np.array([0], np.int64)),
                graph.constant("flat_1", np.array([HEADS], np.int64)),
                graph.op("Unsqueeze", total, graph.constant("front", np.array([0], np.int64))),
                graph.constant("flat_3", np.array([HEAD_SIZE], np.int64))]
        groups = graph.constant("groups", np.array([1, 1, HEADS // KV_HEADS, 1, 1], np.int64))
        wide = graph.op("Expand", graph.op("Unsqueeze", name, new_axis), groups)
        return graph.op("Reshape", wide, graph.op("Concat", *flat, axis=0))

    transposed = graph.op("Transpose", repeat("present.0.key"), perm=[0, 1, 3, 2])
    scale = graph.constant("scale", np.array(HEAD_SIZE**-0.5, np.float32))
    scores = graph.op("Mul", graph.op("MatMul", query, transposed), scale)
    weights = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    attended = merge(graph, graph.op("MatMul", weights, repeat("present.0.value")))
    result = graph.matmul(attended, "/attn/o_proj", HEADS * HEAD_SIZE, HIDDEN)
    graph.op("Add", x, result, outputs=["hidden_states"])
    states = ["batch_size", "sequence_length", HIDDEN]
    return graph.model(
        [Value("inputs_embeds", np.float32, states)]
        + cache_values("past_key_values", 0, "past_sequence_length"),
        [Value("hidden_states", np.float32, states)]
        + cache_values("present", 0, "total_sequence_length"),
        opset=18,
        contrib=False,
    )


def bias_decoder(rng):
    """transformers' own export for the CPU with a static cache: one GroupQueryAttention layer.

    position_ids are row numbers of a cos cache that the graph computes; the mask is a bias made by
    Where; total_sequence_length is the capacity.
    """
    graph = Graph(rng)
    x = "inputs_embeds"
    half = HEAD_SIZE // 2
    frequencies = 100.0 ** (-np.arange(half) / half)
    graph.constant("frequencies", frequencies.astype(np.float32)[None])
    first = graph.constant("first_axis", np.array([-1], np.int64))
    positions = graph.op("Cast", graph.op("Unsqueeze", "row_positions", first), to=1)
    angles = graph.op("MatMul", positions, "frequencies")
    cos, sin = graph.op("Cos", angles), graph.op("Sin", angles)
    zero = graph.constant("zero", np.array(0, np.float32))
    low = graph.constant("low", np.array(np.finfo(np.float32).min, np.float32))
    bias = graph.op("Where", "mask", zero, low)
    query, key, value = (
        graph.matmul(x, f"/attn/{part}_proj", HIDDEN, heads * HEAD_SIZE)
        for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
    )
    graph.op("GroupQueryAttention", query, key, value, "past_key_values.0.key",
             "past_key_values.0.value", "seqlens_k", "total_sequence_length", cos, sin,
             "position_ids", bias, name="/attn/gqa", domain=CONTRIB, num_heads=HEADS,
             kv_num_heads=KV_HEADS, do_rotary=1,
             outputs=["/attn/out", "present.0.key", "present.0.value"])
    result = graph.matmul("/attn/out", "/attn/o_proj", HEADS * HEAD_SIZE, HIDDEN)
    graph.op("Add", x, result, outputs=["hidden_states"])
    states = ["batch_size", "sequence_length", HIDDEN]
    return graph.model(
        [Value("inputs_embeds", np.float32, states),
         Value("row_positions", np.int64, ["rows"]),
         Value("position_ids", np.int64, ["batch_size", "sequence_length"]),
         Value("mask", bool, ["batch_size", 1, "sequence_length", "capacity"]),
         Value("seqlens_k", np.int32, ["batch_size"]),
         Value("total_sequence_length", np.int32, [])]
        + cache_values("past_key_values", 0, "capacity"),
        [Value("hidden_states", np.float32, states)] + cache_values("present", 0, "capacity"),
    )


def external_rotary_decoder(rng):
    """Rotary outside: com.microsoft RotaryEmbedding on Q and K, GroupQueryAttention without it."""
    graph = Graph(rng)
    seqlens, total = graph.lengths_of_mask()
    cos, sin = graph.rope_caches()
    x = graph.embed()
    normal = graph.first_norm(x, "/layers.0/input_layernorm")
    parts = {}
    for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
        projected = graph.matmul(normal, f"/attn/{part}_proj", HIDDEN, heads * HEAD_SIZE)
        if part != "v":
            projected = graph.op("RotaryEmbedding", projected, "position_ids", cos, sin,
                                 name=f"/attn/{part}_rotary", domain=CONTRIB, num_heads=heads,
                                 rotary_embedding_dim=0, interleaved=0)
        parts[part] = projected
    graph.op("GroupQueryAttention", parts["q"], parts["k"], parts["v"], "past_key_values.0.key",
             "past_key_values.0.value", seqlens, total, name="/attn/gqa", domain=CONTRIB,
             num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=0,
             outputs=["/attn/out", "present.0.key", "present.0.value"])
    result = graph.matmul("/attn/out", "/attn/o_proj", HEADS * HEAD_SIZE, HIDDEN)
    normal, _ = graph.skip_norm(x, result, "/final_norm")
    head = graph.matmul(normal, "/lm_head", HIDDEN, TOKENS)
    graph.op("Identity", head, outputs=["logits"], name="/logits")
    inputs = token_inputs()
    inputs.append(Value("position_ids", np.int64, ["batch_size", "sequence_length"]))
    return graph.model(
        inputs + cache_values("past_key_values", 0, "past_sequence_length"),
        [logits_value()] + cache_values("present", 0, "total_sequence_length"),
    )


def empty_caches(batch, lengths):
    """past_key_values of zeros, one length for each layer."""
    caches = {}
    for layer, length in enumerate(lengths):
        for part in ("key", "value"):
            shape = (batch, KV_HEADS, length, HEAD_SIZE)
            caches[f"past_key_values.{layer}.{part}"] = np.zeros(shape, np.float32)
    return caches


def carried(outputs):
    """The present outputs as the next call's past inputs."""
    return {
        name.replace("present.", "past_key_values."): array
        for name, array in outputs.items()
        if name.startswith("present.")
    }


def token_feeds(ids, lengths=None, past=0):
    """input_ids and a right-padded attention_mask: `lengths` tokens after the call, of past + S."""
    ids = np.asarray(ids, np.int64)
    total = past + ids.shape[1]
    lengths = np.full(len(ids), total) if lengths is None else np.asarray(lengths)
    mask = (np.arange(total) < lengths[:, None]).astype(np.int64)
    return {"input_ids": ids, "attention_mask": mask}
