"""A sliding attention layer of Gemma-4 on an external cache: TensorScatter, then Attention with a float bias over absolute
rows (is_causal = 0): causal inside a window, image blocks that see each other both ways, padding. Two prefill chunks, a
block in each, then a decode step; the cache is updated in place. Expected values are those of transformers' own layer
over the whole sequence at once (layer.npz, written by make_layer.py), to which onnxruntime agrees.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.case import Run, write_case

CHUNKS = [(0, 6), (6, 11), (11, 12)]
CAPACITY = 16
LAYER = dict(np.load(Path(__file__).resolve().parent / "layer.npz"))
HEADS, KV_HEADS, HEAD_SIZE = 4, 2, 8


def visible(positions, valid):
    """The rule of AttentionBiasSpec in runtime/engine.h, for all entries of the batch: [B, 1, S, CAPACITY]."""
    batch, rows = LAYER["blocks"].shape
    blocks = np.full((batch, CAPACITY), -1)
    padding = np.zeros((batch, CAPACITY), bool)
    blocks[:, :rows], padding[:, :rows] = LAYER["blocks"], LAYER["padding"]
    j = np.arange(CAPACITY)[None, None, :]
    p = positions[None, :, None]
    same = (blocks[:, None, :] == blocks[:, positions][:, :, None]) & (blocks[:, None, :] >= 0)
    seen = ((j <= p) | same) & (j > p - LAYER["window"])
    return (seen & (j < valid) & ~padding[:, None, :])[:, None]


def model():
    nodes, weights = [], []

    def weight(name, array):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], name="/" + output, **attributes))
        return output

    def heads(name, count, scale):
        """The projection of hidden, each head normalised: [B, S, count * HEAD_SIZE]."""
        projected = op("MatMul", ["hidden", weight(f"{name}_proj", LAYER[f"{name}_proj_weight"].T)], f"{name}_projected")
        split = weight(f"{name}_split", np.array([0, 0, count, HEAD_SIZE]))
        merged = weight(f"{name}_merged", np.array([0, 0, count * HEAD_SIZE]))
        by_head = op("Reshape", [projected, split], f"{name}_heads")
        normal = op("RMSNormalization", [by_head, weight(f"{name}_norm", scale)], f"{name}_normal",
                    axis=-1, epsilon=float(LAYER["epsilon"]))
        return op("Reshape", [normal, merged], f"{name}_states")

    def rotated(name, count):
        return op("RotaryEmbedding", [f"{name}_states", "cos", "sin"], f"{name}_rotated", num_heads=count)

    heads("q", HEADS, LAYER["q_norm_weight"])
    heads("k", KV_HEADS, LAYER["k_norm_weight"])
    heads("v", KV_HEADS, np.ones(HEAD_SIZE, np.float32))
    op("TensorScatter", ["key_cache", rotated("k", KV_HEADS), "write_indices"], "updated_key_cache", axis=1)
    op("TensorScatter", ["value_cache", "v_states", "write_indices"], "updated_value_cache", axis=1)
    op("Attention", [rotated("q", HEADS), "updated_key_cache", "updated_value_cache", "bias", "", "", "nonpad"],
       "attention", q_num_heads=HEADS, kv_num_heads=KV_HEADS, scale=1.0, is_causal=0)
    op("MatMul", ["attention", weight("o_proj", LAYER["o_proj_weight"].T)], "output")

    def tensor(name, dims, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, dims)

    width = KV_HEADS * HEAD_SIZE
    inputs = [
        tensor("hidden", ["batch", "sequence", LAYER["hidden"].shape[2]]),
        tensor("cos", ["batch", "sequence", HEAD_SIZE // 2]),
        tensor("sin", ["batch", "sequence", HEAD_SIZE // 2]),
        tensor("bias", ["batch", 1, "sequence", CAPACITY]),
        tensor("key_cache", ["batch", CAPACITY, width]),
        tensor("value_cache", ["batch", CAPACITY, width]),
        tensor("write_indices", ["batch"], TensorProto.INT64),
        tensor("nonpad", ["batch"], TensorProto.INT64),
    ]
    outputs = [
        tensor("output", ["batch", "sequence", LAYER["hidden"].shape[2]]),
        tensor("updated_key_cache", ["batch", CAPACITY, width]),
        tensor("updated_value_cache", ["batch", CAPACITY, width]),
    ]
    graph = helper.make_graph(nodes, "gemma4_layer", inputs, outputs, weights)
    return helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 24)])


def cache(states, rows):
    """[B, CAPACITY, width] with the first rows of [B, heads, rows, head size] filled."""
    merged = states.transpose(0, 2, 1, 3).reshape(states.shape[0], states.shape[2], -1)
    filled = np.zeros((states.shape[0], CAPACITY, merged.shape[2]), np.float32)
    filled[:, :rows] = merged[:, :rows]
    return filled


def step(start, end):
    batch = LAYER["hidden"].shape[0]
    seen = visible(np.arange(start, end), end)
    whole = LAYER["visible"][:, :, start:end]
    assert (seen[..., :end] == whole[..., :end]).all(), "the rule is not transformers' mask"
    rows = slice(start, end)
    feeds = {
        "hidden": LAYER["hidden"][:, rows],
        "cos": LAYER["cos"][:, rows],
        "sin": LAYER["sin"][:, rows],
        "bias": np.where(seen, 0, -np.inf).astype(np.float32),
        "key_cache": cache(LAYER["keys"], start),
        "value_cache": cache(LAYER["values"], start),
        "write_indices": np.full(batch, start),
        "nonpad": np.full(batch, end),
    }
    expected = {
        "output": LAYER["output"][:, rows],
        "updated_key_cache": cache(LAYER["keys"], end),
        "updated_value_cache": cache(LAYER["values"], end),
    }
    return Run(feeds, expected)


write_case(
    __file__,
    model(),
    [step(*chunk) for chunk in CHUNKS],
    in_place={"key_cache": "updated_key_cache", "value_cache": "updated_value_cache"},
    tolerance=(1e-4, 1e-4),
)
