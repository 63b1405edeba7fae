"""ai.onnx TensorScatter 24."""

import numpy as np

from .attend import Refused


def tensor_scatter(past_cache, update, write_indices=None, *, mode="linear", axis=-2):
    present = np.array(past_cache)
    update = np.asarray(update)
    axis = axis % present.ndim
    if axis == 0:
        raise Refused("axis 0 is the batch")
    capacity, count = present.shape[axis], update.shape[axis]
    batch = present.shape[0]
    starts = np.zeros(batch, np.int64) if write_indices is None else np.asarray(write_indices)

    for entry in range(batch):
        start = int(starts[entry])
        if start < 0:
            raise Refused(f"write_indices[{entry}] = {start} is negative")
        if mode == "circular":
            # Reduced before the sum: an index may stand near the end of int64.
            slots = (start % capacity + np.arange(count)) % capacity
        elif start + count > capacity:
            raise Refused(f"write_indices[{entry}] = {start} writes past the end")
        else:
            slots = start + np.arange(count)
        target = np.moveaxis(present[entry], axis - 1, 0)
        target[slots] = np.moveaxis(update[entry], axis - 1, 0)
    return present
