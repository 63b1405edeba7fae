"""Cases of com.microsoft MultiHeadAttention: one node, all lengths symbolic."""

from dataclasses import dataclass, field
from typing import Optional, Sequence

import numpy as np

from tests.reference import multi_head_attention
from tests.reference.onnx_model import Value, model, node

from .case import Run, random_numbers, write_case

INPUTS = "query key value bias key_padding_mask attention_bias past_key past_value".split()
OUTPUTS = "output present_key present_value qk".split()


@dataclass
class Mha:
    """form: "separate", "4-D" (K and V as (B, N, L, H)), "packed" or "packed KV".

    padding: the key_padding_mask itself. attention_bias: (batch axis, head axis).
    """

    rows: int
    keys: int
    form: str = "separate"
    past: Optional[int] = None
    batch: int = 2
    heads: int = 2
    head_size: int = 8
    value_size: int = 8
    dtype: object = np.float32
    bias: bool = False
    padding: Optional[Sequence] = None
    attention_bias: Optional[Sequence] = None
    present: Optional[bool] = None
    scores: bool = False
    attributes: dict = field(default_factory=dict)

    def dims(self):
        width, value_width = self.heads * self.head_size, self.heads * self.value_size
        result = {
            "query": ["batch", "sequence", width],
            "key": ["batch", "kv_sequence", width],
            "value": ["batch", "kv_sequence", value_width],
            "bias": [2 * width + value_width],
            "past_key": ["batch", self.heads, "past", self.head_size],
            "past_value": ["batch", self.heads, "past", self.value_size],
            "output": ["batch", "sequence", value_width],
            "present_key": ["batch", self.heads, "total", self.head_size],
            "present_value": ["batch", self.heads, "total", self.value_size],
            "qk": ["batch", self.heads, "sequence", "total"],
        }
        if self.form == "4-D":
            result["key"] = ["batch", self.heads, "kv_sequence", self.head_size]
            result["value"] = ["batch", self.heads, "kv_sequence", self.value_size]
        elif self.form == "packed":
            result["query"] = ["batch", "sequence", self.heads, 3, self.head_size]
        elif self.form == "packed KV":
            result["key"] = ["batch", "kv_sequence", self.heads, 2, self.head_size]
        if self.padding is not None:
            axes = np.ndim(self.padding)
            columns = "kv_sequence" if self.past is None else "total"
            result["key_padding_mask"] = ["batch", columns][:axes]
        if self.attention_bias:
            batch, heads = self.attention_bias
            batch = "batch" if batch == self.batch else 1
            result["attention_bias"] = [batch, heads, "sequence", "total"]
        return result

    def feeds(self, rng, dims):
        sizes = {
            "batch": self.batch, "sequence": self.rows, "kv_sequence": self.keys,
            "past": self.past, "total": self.keys + (self.past or 0),
        }

        def normal(name):
            shape = [sizes.get(dim, dim) for dim in dims[name]]
            return rng.standard_normal(shape).astype(self.dtype)

        result = {"query": normal("query")}
        if self.form != "packed":
            result["key"] = normal("key")
        if self.form in ("separate", "4-D"):
            result["value"] = normal("value")
        if self.bias:
            result["bias"] = normal("bias")
        if self.padding is not None:
            result["key_padding_mask"] = np.array(self.padding, np.int32)
        if self.attention_bias:
            result["attention_bias"] = normal("attention_bias")
        if self.past is not None:
            result["past_key"], result["past_value"] = normal("past_key"), normal("past_value")
        return result

    def output_names(self):
        present = self.past is not None if self.present is None else self.present
        names = OUTPUTS[:3] if present else OUTPUTS[:1]
        return names + OUTPUTS[3:] if self.scores else names

    def all_attributes(self):
        return {"num_heads": self.heads} | self.attributes

    def model(self, feeds):
        dims, names = self.dims(), self.output_names()
        call = node(
            "MultiHeadAttention",
            [name if name in feeds else None for name in INPUTS],
            [name if name in names else None for name in OUTPUTS],
            "attn",
            "com.microsoft",
            **self.all_attributes(),
        )
        return model(
            [call],
            [Value(name, array.dtype, dims[name])
             for name, array in feeds.items() if name != "bias"],
            [Value(name, self.dtype, dims[name]) for name in names],
            initializers={"bias": feeds["bias"]} if self.bias else {},
            opsets={"": 21, "com.microsoft": 1},
        )

    def parts(self, script):
        """(model, feeds of the graph's inputs), with nothing computed: for refusals."""
        feeds = self.feeds(random_numbers(script), self.dims())
        proto = self.model(feeds)
        return proto, {name: array for name, array in feeds.items() if name != "bias"}

    def write(self, script, **options):
        feeds = self.feeds(random_numbers(script), self.dims())
        result = multi_head_attention(**feeds, **self.all_attributes())
        run_feeds = {name: array for name, array in feeds.items() if name != "bias"}
        write_case(script, self.model(feeds), Run(run_feeds, result._asdict()), **options)
