"""genai's graph with one full and one sliding layer: the sliding one has a buffer of six rows of
its own and sliding_window_cache, window 4. Rows of the buffer beyond the resident ones do not
count.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
proto = tiny.genai_decoder(
    rng,
    layers=2,
    past_length=["past_sequence_length", "past_sliding_length"],
    local_window_size=[-1, 4],
    sliding_window_cache=[None, 1],
)
record = Recorder(__file__, proto)
record.save_model()


def resident(tokens):
    """Rows of six in use after `tokens` tokens under a window of 4; three go at once."""
    return tokens if tokens <= 6 else tokens - 3 * -(-(tokens - 6) // 3)


ids = rng.integers(0, tiny.TOKENS, (1, 12))
past = tiny.empty_caches(1, [0, 6])
tokens = 0
for index, rows in enumerate((8, 1, 2, 1)):
    feeds = tiny.token_feeds(ids[:, tokens : tokens + rows], past=tokens) | past
    outputs = record.compute(feeds)
    tokens += rows
    free = np.arange(6)[None, None, :, None] >= resident(tokens)
    for name in ("present.1.key", "present.1.value"):
        outputs[name] = np.where(free, np.float32(0), outputs[name])
    unspecified = {"present.1.key": free, "present.1.value": free}
    file = "io.npz" if index == 0 else f"io_step{index}.npz"
    record.add(file, feeds, outputs, unspecified=unspecified)
    past = tiny.carried(outputs)
record.finish()
