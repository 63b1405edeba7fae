"""Cases of one attention block that torch exports: x, past_key, past_value, [positions,] mask."""

from pathlib import Path

import numpy as np
from onnx import helper

from .case import random_numbers
from .exported import Exported
from .recorder import Recorder


def write_block(script):
    """Two calls of different lengths."""
    exported = Exported(Path(script).resolve().parent / "model.onnx")
    recorder, rng = Recorder(script, exported.proto), random_numbers(script)
    for file, rows, past in (("io.npz", 5, 3), ("io_step1.npz", 1, 7)):
        feeds = block_feeds(exported, rng, rows, past)
        recorder.add(file, feeds, exported.run(feeds), strict=False)
    recorder.finish(tolerance=exported.tolerance)


def block_feeds(exported, rng, rows, past, batch=2):
    feeds = {}
    for value in exported.proto.graph.input:
        tensor = value.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if len(dims) == 3:
            array = rng.standard_normal((batch, rows, dims[2]))
        elif len(dims) == 1:
            array = past + np.arange(rows)
        elif dims[3]:
            capacity = dims[2] or past
            array = rng.standard_normal((batch, dims[1], capacity, dims[3]))
            total = capacity if dims[2] else past + rows
        if len(dims) == 4 and value.name == exported.proto.graph.input[-1].name:
            visible = rng.random((dims[0] or batch, 1, rows, total)) < 0.7
            visible[..., 0] = True
            array = visible if dtype == bool else np.where(visible, 0, -np.inf)
        feeds[value.name] = array.astype(dtype)
    return feeds
