"""The one mask of all attention operators: an interval of keys for each query row."""

from typing import NamedTuple, Optional

import numpy as np


class Band(NamedTuple):
    """Keys `position - left` to `position + right`, both included. None leaves a side open."""

    left: Optional[int] = None
    right: Optional[int] = None


def visible_keys(band, position, key_count):
    """The half-open range [lo, hi) of keys that a query at `position` sees among `key_count`.

    `position` may be negative (fewer valid keys than query rows); it is not clamped, so that such
    a row sees nothing. The range is empty where lo >= hi.
    """
    position = int(position)  # numpy's would wrap at a very wide band
    lo = 0 if band.left is None else max(0, position - band.left)
    hi = key_count if band.right is None else min(key_count, position + band.right + 1)
    return lo, hi


def visible_columns(band, position, key_count, columns):
    """`visible_keys` as a boolean vector over `columns` keys."""
    lo, hi = visible_keys(band, position, key_count)
    index = np.arange(columns)
    return (index >= lo) & (index < hi)
