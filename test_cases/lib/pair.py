"""Cases of prefill.onnx and decode.onnx, as transformers' own exporter writes them.

Each is the model.onnx of a case of its own, NAME_prefill and NAME_decode.
"""

from pathlib import Path

import numpy as np
from onnx import helper

from .case import ONNXRUNTIME, random_numbers
from .exported import Exported
from .recorder import Recorder

PROMPT, VOCABULARY = 12, 80


class Half:
    """One of the two models. `window`: rows that sliding layers attend."""

    def __init__(self, path, window):
        self.exported, self.window, self.inputs = Exported(path), window, {}
        for value in self.exported.proto.graph.input:
            tensor = value.type.tensor_type
            dims = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
            self.inputs[value.name] = (helper.tensor_dtype_to_np_dtype(tensor.elem_type), dims)

    def call(self, ids, start, caches):
        """`ids` are the tokens from position `start` on. Returns (feeds, outputs)."""
        after, feeds = start + len(ids), {}
        for name, (dtype, dims) in self.inputs.items():
            if name == "input_ids":
                value = ids[None]
            elif name == "position_ids":
                value = np.arange(start, after)[None]
            elif name == "attention_mask":
                value = self.mask(start, after, keys=dims[3])[None, None]
            elif name.endswith("cumulative_length"):
                value = start
            elif name.endswith("_sliding_window_tensor"):
                value = self.window
            else:
                value = caches[name.removeprefix("input.")]
            feeds[name] = np.asarray(value).astype(dtype)
        return feeds, self.exported.run(feeds)

    def mask(self, start, after, keys):
        if keys == self.window:  # a full cache of the window alone
            return np.ones((after - start, keys), bool)
        rows, columns = np.arange(start, after)[:, None], np.arange(keys)
        visible = columns <= rows
        if self.window:
            visible &= columns > rows - self.window
        return visible

    def carried(self, outputs):
        """The caches for the next call: of a sliding layer's growing one only what it may see."""
        caches = {}
        for name, array in outputs.items():
            name = name.removeprefix("output.")
            if name.endswith((".keys", ".values")):
                layer = name.rsplit(".", 1)[0]
                if f"input.{layer}._sliding_window_tensor" in self.inputs:
                    array = array[:, :, -(self.window - 1) :]
                caches[name] = array
        return caches


def write_prefill(script, window=None):
    """The prompt; a shorter one too if the model takes it."""
    half = Half(Path(script).resolve().parent / "model.onnx", window)
    ids = random_numbers(script).integers(4, VOCABULARY, PROMPT)
    calls = {"io.npz": half.call(ids, 0, {})}
    if isinstance(half.inputs["input_ids"][1][1], str):
        calls["io_short.npz"] = half.call(ids[:5], 0, {})
    record(script, half, calls)


def write_decode(script, window=None):
    """Three steps after the prompt, and one much later."""
    directory = Path(script).resolve().parent
    first = directory.with_name(directory.name.replace("_decode", "_prefill")) / "model.onnx"
    prefill, half = Half(first, window), Half(directory / "model.onnx", window)
    ids = random_numbers(script).integers(4, VOCABULARY, PROMPT + 9)
    _, outputs = prefill.call(ids[:PROMPT], 0, {})
    caches, calls = prefill.carried(outputs), {}
    for step in range(9):
        start = PROMPT + step
        calls[step] = half.call(ids[start : start + 1], start, caches)
        caches = half.carried(calls[step][1])
    names = {0: "io.npz", 1: "io_step1.npz", 2: "io_step2.npz", 8: "io_step8.npz"}
    record(script, half, {name: calls[step] for step, name in names.items()})


def record(script, half, calls):
    recorder = Recorder(script, half.exported.proto)
    for file, (feeds, outputs) in calls.items():
        recorder.add(file, feeds, outputs)
    expected = ONNXRUNTIME + (", run in f32" if half.exported.widened else "")
    recorder.finish(expected, half.exported.tolerance, half.exported.exact)
