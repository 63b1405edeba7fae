"""Cases of ai.onnx Attention 23, 24 and 25: one node, all shapes symbolic."""

from dataclasses import dataclass, field
from typing import Optional, Sequence

import numpy as np

from tests.reference import attention
from tests.reference.onnx_model import Value, model, node

from .case import Run, random_numbers, write_case

INPUTS = "Q K V attn_mask past_key past_value nonpad_kv_seqlen".split()
OUTPUTS = "Y present_key present_value qk_matmul_output".split()


@dataclass
class Attention:
    """`rows` queries over `keys` new keys, after `past` cached ones.

    mask: its shape in words or numbers, such as ("batch", 1, "sequence", "total").
    mode: qk_matmul_output_mode; None leaves the fourth output out.
    present: which of the two present outputs exist, "both", "key" or "none".
    """

    rows: int
    keys: int
    opset: int = 24
    past: Optional[int] = None
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_size: int = 8
    value_size: int = 8
    dtype: object = np.float32
    value_type: object = None
    three_axes: bool = False
    mask: Optional[Sequence] = None
    mask_type: object = bool
    nonpad: Optional[Sequence] = None
    present: Optional[str] = None
    mode: Optional[int] = None
    attributes: dict = field(default_factory=dict)

    def symbols(self):
        total = self.keys + (self.past or 0)
        return {
            "batch": self.batch, "heads": self.heads, "sequence": self.rows, "total": total,
            "kv_sequence": self.keys, "past": self.past,
        }

    def sizes(self, dims):
        return [self.symbols().get(dim, dim) for dim in dims]

    def dims(self):
        """Declared shapes by name. The head count is a number, the lengths are symbols."""
        if self.three_axes:
            result = {
                "Q": ["batch", "sequence", self.heads * self.head_size],
                "K": ["batch", "kv_sequence", self.kv_heads * self.head_size],
                "V": ["batch", "kv_sequence", self.kv_heads * self.value_size],
                "Y": ["batch", "sequence", self.heads * self.value_size],
            }
        else:
            result = {
                "Q": ["batch", self.heads, "sequence", self.head_size],
                "K": ["batch", self.kv_heads, "kv_sequence", self.head_size],
                "V": ["batch", self.kv_heads, "kv_sequence", self.value_size],
                "Y": ["batch", self.heads, "sequence", self.value_size],
            }
        mask = [self.heads if dim == "heads" else dim for dim in self.mask or ()]
        return result | {
            "attn_mask": ["mask_length" if isinstance(dim, int) and dim > 1 and axis == -1 else dim
                          for axis, dim in zip(range(-len(mask), 0), mask)],
            "past_key": ["batch", self.kv_heads, "past", self.head_size],
            "past_value": ["batch", self.kv_heads, "past", self.value_size],
            "present_key": ["batch", self.kv_heads, "total", self.head_size],
            "present_value": ["batch", self.kv_heads, "total", self.value_size],
            "nonpad_kv_seqlen": ["batch"],
            "qk_matmul_output": ["batch", self.heads, "sequence", "total"],
        }

    def all_attributes(self):
        result = {}
        if self.three_axes:
            result |= {"q_num_heads": self.heads, "kv_num_heads": self.kv_heads}
        if self.mode is not None:
            result["qk_matmul_output_mode"] = self.mode
        return result | self.attributes

    def feeds(self, rng):
        dims = self.dims()

        def normal(name, dtype):
            return rng.standard_normal(self.sizes(dims[name])).astype(dtype)

        value_type = self.value_type or self.dtype
        result = {"Q": normal("Q", self.dtype), "K": normal("K", self.dtype)}
        result["V"] = normal("V", value_type)
        if self.mask is not None:
            shape = self.sizes(self.mask)
            if self.mask_type is bool:
                result["attn_mask"] = rng.random(shape) < 0.6
            else:
                mask = rng.standard_normal(shape)
                mask[rng.random(shape) < 0.2] = -np.inf
                result["attn_mask"] = mask.astype(self.mask_type)
        if self.past is not None:
            result["past_key"] = normal("past_key", self.dtype)
            result["past_value"] = normal("past_value", value_type)
        if self.nonpad is not None:
            result["nonpad_kv_seqlen"] = np.array(self.nonpad, np.int64)
        return result

    def output_names(self):
        present = self.present or ("none" if self.past is None else "both")
        chosen = {"none": [], "key": OUTPUTS[1:2], "both": OUTPUTS[1:3]}[present]
        return ["Y"] + chosen + ([] if self.mode is None else OUTPUTS[3:])

    def model(self, feeds):
        dims, names = self.dims(), self.output_names()
        types = dict.fromkeys(OUTPUTS, self.dtype)
        types["present_value"] = self.value_type or self.dtype
        call = node(
            "Attention",
            [name if name in feeds else None for name in INPUTS],
            [name if name in names else None for name in OUTPUTS],
            "attn",
            **self.all_attributes(),
        )
        return model(
            [call],
            [Value(name, array.dtype, dims[name]) for name, array in feeds.items()],
            [Value(name, types[name], dims[name]) for name in names],
            opsets={"": self.opset},
        )

    def parts(self, script):
        """(model, feeds), with nothing computed: for refusals."""
        feeds = self.feeds(random_numbers(script))
        return self.model(feeds), feeds

    def write(self, script, *, change=None, **options):
        """Writes the case. `change` may alter the feeds (a dict) before anything is computed."""
        feeds = self.feeds(random_numbers(script))
        if change:
            change(feeds)
        result = attention(**feeds, **self.all_attributes())
        write_case(script, self.model(feeds), Run(feeds, result._asdict()), **options)
