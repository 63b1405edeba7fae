"""Cases of the small operators next to attention: one node each."""

import numpy as np

from tests.reference import (
    contrib_rotary_embedding,
    rms_normalization,
    rotary_embedding,
    skip_simplified_layer_normalization,
    tensor_scatter,
)
from tests.reference.onnx_model import Value, model, node

from .case import Run, random_numbers, write_case


class Operator:
    """One node. `feeds` holds its inputs in order, None where one is absent."""

    def __init__(self, op_type, feeds, dims, *, domain="", opset=21, weights=(), **attributes):
        self.op_type, self.domain, self.opset = op_type, domain, opset
        self.feeds, self.dims, self.weights, self.attributes = feeds, dims, weights, attributes

    def given(self):
        return {name: array for name, array in self.feeds.items() if array is not None}

    def model(self, outputs):
        """`outputs`: (name or None, type, dims)."""
        given = self.given()
        call = node(
            self.op_type,
            [name if name in given else None for name in self.feeds],
            [name for name, _, _ in outputs],
            "node",
            self.domain,
            **self.attributes,
        )
        return model(
            [call],
            [Value(name, array.dtype, self.dims[name])
             for name, array in given.items() if name not in self.weights],
            [Value(*output) for output in outputs if output[0]],
            initializers={name: given[name] for name in self.weights if name in given},
            opsets={"": self.opset} | ({self.domain: 1} if self.domain else {}),
        )

    def write(self, script, outputs, expected, **options):
        """`expected` by output name."""
        feeds = {name: array for name, array in self.given().items() if name not in self.weights}
        write_case(script, self.model(outputs), Run(feeds, expected), **options)


def rotary_case(
    script,
    *,
    contrib=False,
    three_axes=False,
    channels=8,
    head_size=8,
    interleaved=0,
    positions=None,
    offset=None,
    dtype=np.float32,
    name_heads=True,
    **options,
):
    """RotaryEmbedding of either domain over X of two entries, three heads and four rows.

    positions (B, S); `offset`: the one-element form of com.microsoft; with neither, the caches come
    gathered, as (B, S, channels / 2).
    """
    batch, heads, rows = 2, 3, 4
    rng = random_numbers(script)
    shape, dims = (batch, heads, rows, head_size), ["batch", heads, "sequence", head_size]
    if three_axes:
        shape, dims = (batch, rows, heads * head_size), ["batch", "sequence", heads * head_size]
    x = rng.standard_normal(shape).astype(dtype)
    gathered = positions is None and offset is None
    angles = rng.uniform(0, 6, (batch, rows, channels // 2) if gathered else (16, channels // 2))
    cos, sin = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    ids = None
    if offset is not None:
        ids = np.array([offset], np.int64)
    elif positions is not None:
        ids = np.array(positions, np.int64)

    attributes = {"interleaved": interleaved}
    if (three_axes or channels != head_size and contrib) and name_heads:
        attributes["num_heads"] = heads
    if channels != head_size:
        attributes["rotary_embedding_dim"] = channels
    all_dims = {"X": dims, "position_ids": ["batch", "sequence"] if offset is None else [1]}
    all_dims |= dict.fromkeys(("cos_cache", "sin_cache"), ["batch", "sequence", channels // 2])
    caches = {"cos_cache": cos, "sin_cache": sin}
    weights = () if gathered else ("cos_cache", "sin_cache")
    if contrib:
        feeds = {"X": x, "position_ids": ids} | caches
        y = contrib_rotary_embedding(*feeds.values(), **attributes)
        operator = Operator("RotaryEmbedding", feeds, all_dims, domain="com.microsoft",
                            weights=weights, **attributes)
    else:
        feeds = {"X": x} | caches | {"position_ids": ids}
        y = rotary_embedding(*feeds.values(), **attributes)
        operator = Operator("RotaryEmbedding", feeds, all_dims, opset=23, weights=weights,
                            **attributes)
    operator.write(script, [("Y", dtype, dims)], {"Y": y}, **options)


def norm_case(script, op_type, *, dtype=np.float32, factor=1, scale_dims=(8,), mean=0,
              scale_type=None, attributes=None, **options):
    """RMSNormalization or SimplifiedLayerNormalization over X (batch, sequence, 8).

    Y has the type of `scale`.
    """
    rng = random_numbers(script)
    x = (mean + factor * rng.standard_normal((2, 3, 8))).astype(dtype)
    scale = rng.standard_normal(scale_dims).astype(scale_type or dtype)
    attributes = attributes or {}
    dims = ["batch", "sequence", 8]
    y = rms_normalization(x, scale, **attributes)
    opset = 23 if op_type == "RMSNormalization" else 21
    operator = Operator(op_type, {"X": x, "scale": scale}, {"X": dims}, opset=opset,
                        weights=("scale",), **attributes)
    operator.write(script, [("Y", scale.dtype, dims)], {"Y": y}, **options)


def skip_norm_case(script, *, bias=False, total=False, dtype=np.float32, factor=1, mean=0,
                   **options):
    """SkipSimplifiedLayerNormalization over (batch, sequence, 8)."""
    rng = random_numbers(script)
    dims = ["batch", "sequence", 8]
    feeds = {name: (mean + factor * rng.standard_normal((2, 3, 8))).astype(dtype)
             for name in ("input", "skip")}
    feeds["gamma"] = rng.standard_normal(8).astype(dtype)
    feeds["bias"] = rng.standard_normal(8).astype(dtype) if bias else None
    y, added = skip_simplified_layer_normalization(**feeds, epsilon=1e-5)
    outputs = [("output", dtype, dims)]
    if total:
        outputs += [(None, None, None)] * 2 + [("input_skip_bias_sum", dtype, dims)]
    operator = Operator("SkipSimplifiedLayerNormalization", feeds, {"input": dims, "skip": dims},
                        domain="com.microsoft", weights=("gamma", "bias"), epsilon=1e-5)
    results = {"output": y, "input_skip_bias_sum": added}
    operator.write(script, outputs, results, **options)


def scatter_case(script, *, capacity=6, count=2, indices=None, mode="linear", axis=-2, batch=3,
                 three_axes=False, dtype=np.float32, in_place=False, **options):
    """TensorScatter into a cache (batch, 2, capacity, 4), or (batch, capacity, 8) on three axes."""
    rng = random_numbers(script)
    if three_axes:
        dims, shape = ["batch", capacity, 8], (batch, capacity, 8)
        update_dims, update_shape = ["batch", "sequence", 8], (batch, count, 8)
    else:
        dims, shape = ["batch", 2, capacity, 4], (batch, 2, capacity, 4)
        update_dims, update_shape = ["batch", 2, "sequence", 4], (batch, 2, count, 4)
    feeds = {
        "past_cache": rng.standard_normal(shape).astype(dtype),
        "update": rng.standard_normal(update_shape).astype(dtype),
        "write_indices": None if indices is None else np.array(indices, np.int64),
    }
    attributes = {"mode": mode, "axis": axis}
    present = tensor_scatter(*feeds.values(), **attributes)
    all_dims = {"past_cache": dims, "update": update_dims, "write_indices": ["batch"]}
    if in_place:
        options["in_place"] = {"past_cache": "present_cache"}
    operator = Operator("TensorScatter", feeds, all_dims, opset=24, **attributes)
    operator.write(script, [("present_cache", dtype, dims)], {"present_cache": present}, **options)
