"""Attention without an attention operator, node by node as exporters write it.

Four query heads, K and V of two or four, head size 8; batch 2, all lengths symbolic.
"""

import numpy as np

from tests.reference.onnx_model import Value

from . import tiny
from .case import Run, random_numbers, write_case

BATCH, HEADS, SIZE = 2, 4, 8
LOWEST = np.finfo(np.float32).min


class Spelling(tiny.Graph):
    """Q [B, N, S, H], K and V [B, K, T, H] come in, y [B, N, S, H] leaves."""

    def __init__(self, kv_heads=HEADS, dtype=np.float32):
        super().__init__(None)
        self.kv_heads, self.dtype, self.masks = kv_heads, np.dtype(dtype), []

    def number(self, value, dtype=None):
        array = np.array(value, dtype or self.dtype)
        return self.constant(f"number_{len(self.weights)}", array)

    def ints(self, *values):
        return self.constant(f"ints_{len(self.weights)}", np.array(values, np.int64))

    def mask(self, dtype, *dims):
        self.masks.append(Value("mask", dtype, list(dims)))
        return "mask"

    def length(self, name, axis):
        return self.op("Shape", name, start=axis, end=axis + 1)

    def repeated(self, name, groups):
        """Every KV head `groups` times in a row: Unsqueeze, Expand, Reshape."""
        batch, rows = self.length(name, 0), self.length(name, 2)
        kv_heads, size = self.ints(self.kv_heads), self.ints(SIZE)
        wide = self.op("Concat", batch, kv_heads, self.ints(groups), rows, size, axis=0)
        flat = self.op("Concat", batch, self.ints(self.kv_heads * groups), rows, size, axis=0)
        stretched = self.op("Expand", self.op("Unsqueeze", name, self.ints(2)), wide)
        return self.op("Reshape", stretched, flat)

    def transposed_in_three_axes(self, key):
        """K^T as torch.onnx.export(dynamo=True) writes it: leading axes merged for the transpose."""
        shape = self.op("Shape", key)
        first = self.op("Slice", shape, self.ints(-(2**63)), self.ints(-2))
        rows = self.op("Slice", shape, self.ints(-2), self.ints(-1))
        size = self.op("Slice", shape, self.ints(-1), self.ints(2**63 - 1))
        flat = self.op("Reshape", key, self.op("Concat", self.ints(-1), rows, size, axis=0))
        swapped = self.op("Transpose", flat, perm=[0, 2, 1])
        return self.op("Reshape", swapped, self.op("Concat", first, size, rows, axis=0))

    def computed_scale(self, query):
        """1 / sqrt(H) by the shape of Q, as TorchScript's exporter writes it."""
        last = self.op("Slice", self.op("Shape", query), self.ints(-1), self.ints(2**63 - 1))
        root = self.op("Sqrt", self.op("Cast", last, to=1))
        return self.op("Div", self.number([1.0], np.float32), root)

    def positions(self, start, end):
        """start, start + 1, ... below end; both [1]."""
        scalars = [self.op("Squeeze", value, self.ints(0)) for value in (start, end)]
        return self.op("Range", *scalars, self.number(1, np.int64))

    def finish(self, opset=18):
        types = {"q": ("q_length", HEADS), "k": ("k_length", self.kv_heads)}
        types["v"] = types["k"]
        inputs = [
            Value(name, self.dtype, ["batch", heads, length, SIZE])
            for name, (length, heads) in types.items()
        ]
        outputs = [Value("y", self.dtype, ["batch", HEADS, "q_length", SIZE])]
        return self.model(inputs + self.masks, outputs, opset=opset, contrib=False)


def attention(q, k, v, scale=SIZE**-0.5, softcap=0, bias=0, visible=True):
    """In float64; a row that sees nothing is 0."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, HEADS // x.shape[1], axis=1) for x in (k, v))
    scores = scale * q @ k.swapaxes(2, 3)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(visible, scores + bias, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def write(script, graph, mask=None, lengths=((5, 5), (1, 7)), opset=18, **how):
    """`mask`(rng, rows, keys): the array for input mask, and what `attention` makes of it.

    lengths: of Q and K, for each run.
    """
    rng = random_numbers(script)
    runs = []
    for rows, keys in lengths:
        shapes = {"q": (HEADS, rows), "k": (graph.kv_heads, keys), "v": (graph.kv_heads, keys)}
        feeds = {
            name: rng.standard_normal((BATCH, *shape, SIZE)).astype(graph.dtype)
            for name, shape in shapes.items()
        }
        meaning = dict(how.get("meaning", {}))
        if mask:
            array, more = mask(rng, rows, keys)
            meaning |= more
            if graph.masks:
                feeds["mask"] = array
        runs.append(Run(feeds, {"y": attention(feeds["q"], feeds["k"], feeds["v"], **meaning)}))
    how.pop("meaning", None)
    write_case(script, graph.finish(opset), runs, **how)


def random_bias(*shape):
    """A mask of floats, its dims numbers, "rows" or "keys"."""

    def make(rng, rows, keys):
        dims = [{"rows": rows, "keys": keys}.get(dim, dim) for dim in shape]
        array = rng.standard_normal(dims).astype(np.float32)
        return array, {"bias": array}

    return make


def random_visible(rng, rows, keys):
    """[B, 1, S, T]; row 0 of entry 1 sees nothing."""
    array = rng.random((BATCH, 1, rows, keys)) < 0.6
    array[..., 0] = True
    array[1, :, 0] = False
    return array, {"visible": array}


def causal(_, rows, keys):
    """The queries are the last keys."""
    return None, {"visible": np.tril(np.ones((rows, keys), bool), keys - rows)}


def causal_and_padding(rng, rows, keys):
    """Left padding of entry 1, as an i64 attention mask [B, T]."""
    array = np.ones((BATCH, keys), np.int64)
    array[1, :2] = 0
    visible = causal(rng, rows, keys)[1]["visible"] & (array[:, None, None, :] != 0)
    return array, {"visible": visible}
