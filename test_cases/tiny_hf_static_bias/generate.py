"""One layer as transformers exports it for the CPU with a static cache: cos and sin computed in
the graph, position_ids that index them, a bias with the lowest float over all slots,
total_sequence_length equal to the capacity.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
record = Recorder(__file__, tiny.bias_decoder(rng))
record.save_model()
capacity = 10
past = tiny.empty_caches(1, [capacity])
for index, (start, rows) in enumerate(((0, 4), (4, 1), (5, 2))):
    slots = start + np.arange(rows)
    feeds = {
        "inputs_embeds": rng.standard_normal((1, rows, tiny.HIDDEN)).astype(np.float32),
        "row_positions": np.pad(slots, (0, capacity - rows)),
        "position_ids": np.arange(rows)[None],
        "mask": np.arange(capacity)[None, None, None] <= slots[None, None, :, None],
        "seqlens_k": np.array([start + rows - 1], np.int32),
        "total_sequence_length": np.array(capacity, np.int32),
    }
    outputs = record.run("io.npz" if index == 0 else f"io_step{index}.npz", feeds | past)
    past = tiny.carried(outputs)
record.finish()
