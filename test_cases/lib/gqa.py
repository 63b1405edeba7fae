"""Cases of com.microsoft GroupQueryAttention: one node, all shapes symbolic."""

from dataclasses import dataclass, field
from typing import Optional, Sequence

import numpy as np

from tests.reference import group_query_attention
from tests.reference.onnx_model import Value, model, node

from .case import Run, random_numbers, write_case

INPUTS = (
    "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache"
    " position_ids attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight"
    " query_seqlens"
).split()
WEIGHTS = ("cos_cache", "sin_cache", "head_sink", "k_scale", "v_scale", "q_norm_weight",
           "k_norm_weight")
POSITIONS = 24


@dataclass
class Gqa:
    """A call: `rows` new tokens on top of `past` cached ones.

    lengths: tokens per batch entry after the call, by default all past + rows.
    capacity: rows of the past buffer, by default `past`; None for past gives no past inputs.
    """

    rows: int
    past: Optional[int] = 0
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_size: int = 16
    dtype: object = np.float32
    lengths: Optional[Sequence] = None
    total: Optional[int] = None
    capacity: Optional[int] = None
    packed: bool = False
    shared_kv: bool = False
    rotary: bool = False
    interleaved: bool = False
    rotary_channels: Optional[int] = None
    position_ids: Optional[Sequence] = None
    bias: Optional[Sequence] = None             # (batch axis, head axis)
    sink: bool = False
    norm: bool = False
    query_lengths: Optional[Sequence] = None
    cache_bits: int = 0
    cache_scale: str = "PER_TENSOR"
    seqlens_axes: int = 1
    present: bool = True
    scores: bool = False
    in_place: bool = False
    attributes: dict = field(default_factory=dict)

    def tokens(self):
        return (self.past or 0) + (0 if self.shared_kv else self.rows)

    def total_length(self):
        return self.tokens() if self.total is None else self.total

    def all_attributes(self):
        result = {"num_heads": self.heads, "kv_num_heads": self.kv_heads}
        if self.rotary:
            result["do_rotary"] = 1
        if self.interleaved:
            result["rotary_interleaved"] = 1
        if self.cache_bits:
            result |= {
                "k_quant_type": self.cache_scale,
                "v_quant_type": self.cache_scale,
                "kv_cache_bit_width": self.cache_bits,
            }
        return result | self.attributes

    def feeds(self, rng):
        """Every input by name, initializers included."""
        batch, rows, heads, kv_heads = self.batch, self.rows, self.heads, self.kv_heads

        def normal(*shape):
            return rng.standard_normal(shape).astype(self.dtype)

        result = {}
        if self.packed:
            result["query"] = normal(batch, rows, (heads + 2 * kv_heads) * self.head_size)
        else:
            new_rows = 0 if self.shared_kv else rows
            result["query"] = normal(batch, rows, heads * self.head_size)
            result["key"] = normal(batch, new_rows, kv_heads * self.head_size)
            result["value"] = normal(batch, new_rows, kv_heads * self.head_size)
        if self.past is not None:
            result |= self._past(rng, normal)
        lengths = np.full(batch, self.tokens()) if self.lengths is None else np.array(self.lengths)
        result["seqlens_k"] = (lengths - 1).astype(np.int32)
        if self.seqlens_axes == 2:
            result["seqlens_k"] = result["seqlens_k"].reshape(batch, 1)
        result["total_sequence_length"] = np.array(self.total_length(), np.int32)
        if self.rotary:
            channels = self.rotary_channels or self.head_size
            frequencies = 100.0 ** (-np.arange(channels // 2) / (channels // 2))
            angles = np.arange(POSITIONS)[:, None] * frequencies
            result["cos_cache"] = np.cos(angles).astype(self.dtype)
            result["sin_cache"] = np.sin(angles).astype(self.dtype)
        if self.position_ids is not None:
            result["position_ids"] = np.array(self.position_ids, np.int64)
        if self.bias:
            result["attention_bias"] = normal(*self.bias, rows, self.total_length())
        if self.sink:
            result["head_sink"] = normal(heads)
        if self.cache_bits:
            size = (1,) if self.cache_scale == "PER_TENSOR" else (1, kv_heads, 1, self.head_size)
            for name in ("k_scale", "v_scale"):
                scale = rng.uniform(0.3, 0.6, size) * 16 / 2**self.cache_bits
                result[name] = scale.astype(np.float32)
        if self.norm:
            result["q_norm_weight"] = 1 + normal(self.head_size) / 4
            result["k_norm_weight"] = 1 + normal(self.head_size) / 4
        if self.query_lengths is not None:
            result["query_seqlens"] = np.array(self.query_lengths, np.int32)
        order = {name: result[name] for name in INPUTS if name in result}
        return {name: array.astype(self.dtype) if "norm" in name else array
                for name, array in order.items()}

    def _past(self, rng, normal):
        capacity = self.past if self.capacity is None else self.capacity
        shape = (self.batch, self.kv_heads, capacity, self.head_size)
        if self.cache_bits == 8:
            return {name: rng.integers(-100, 100, shape).astype(np.int8)
                    for name in ("past_key", "past_value")}
        if self.cache_bits == 4:
            shape = shape[:3] + (self.head_size // 2,)
            return {name: rng.integers(0, 256, shape).astype(np.uint8)
                    for name in ("past_key", "past_value")}
        return {name: normal(*shape) for name in ("past_key", "past_value")}

    def model(self, feeds, weights=WEIGHTS):
        """The node's model; inputs of `weights` become initializers."""
        cache_type = feeds["past_key"].dtype if "past_key" in feeds else self.dtype
        width = feeds["past_key"].shape[3] if "past_key" in feeds else self.head_size
        dims = {
            "query": ["batch", "sequence", feeds["query"].shape[2]],
            "past_key": ["batch", self.kv_heads, "past", width],
            "seqlens_k": ["batch", 1][: self.seqlens_axes],
            "total_sequence_length": [],
            "position_ids": ["batch", "sequence"],
            "query_seqlens": ["batch"],
        }
        dims["past_value"] = dims["past_key"]
        if not self.packed:
            rows = "kv_sequence" if self.shared_kv else "sequence"
            dims["key"] = dims["value"] = ["batch", rows, feeds["key"].shape[2]]
        if self.bias:
            lead = ["batch" if self.bias[0] == self.batch else 1, self.bias[1]]
            dims["attention_bias"] = lead + ["sequence", "total"]
        inputs = [
            Value(name, array.dtype, dims.get(name, array.shape))
            for name, array in feeds.items()
            if name not in weights
        ]
        outputs = [Value("output", self.dtype, ["batch", "sequence", self.heads * self.head_size])]
        present_dims = ["batch", self.kv_heads, "present", width]
        if self.present:
            outputs.append(Value("present_key", cache_type, present_dims))
            outputs.append(Value("present_value", cache_type, present_dims))
        if self.scores:
            dims = ["batch", self.heads, "sequence", "total"]
            outputs.append(Value("output_qk", self.dtype, dims))
        names = {value.name for value in outputs}
        call = node(
            "GroupQueryAttention",
            [name if name in feeds else None for name in INPUTS],
            [name if name in names else None
             for name in ("output", "present_key", "present_value", "output_qk")],
            "attn",
            "com.microsoft",
            **self.all_attributes(),
        )
        initializers = {name: array for name, array in feeds.items() if name in weights}
        return model([call], inputs, outputs, initializers=initializers,
                     opsets={"": 21, "com.microsoft": 1})

    def result(self, feeds):
        return group_query_attention(**feeds, **self.all_attributes(), in_place=self.in_place)

    def parts(self, script, weights=WEIGHTS):
        """(model, feeds of the graph's inputs), with nothing computed: for refusals."""
        feeds = self.feeds(random_numbers(script))
        proto = self.model(feeds, weights)
        return proto, {name: array for name, array in feeds.items() if name not in weights}

    def write(self, script, *, weights=WEIGHTS, change=None, **options):
        """Writes the case. `change` may alter the feeds (a dict) before anything is computed."""
        feeds = self.feeds(random_numbers(script))
        if change:
            change(feeds)
        result = self.result(feeds)
        if self.in_place:
            options["in_place"] = {"past_key": "present_key", "past_value": "present_value"}
        if self.query_lengths is not None and "reference_only" not in options:
            padding = np.arange(self.rows) >= np.array(self.query_lengths)[:, None]
            options.setdefault("undefined", {"output": padding[:, :, None]})
        if self.attributes.get("sliding_window_cache"):
            free = ~result.present_rows[:, None, :, None]
            options["unspecified"] = {"present_key": free, "present_value": free}
        proto = self.model(feeds, weights)
        run_feeds = {name: array for name, array in feeds.items() if name not in weights}
        write_case(script, proto, Run(run_feeds, result._asdict()), **options)
