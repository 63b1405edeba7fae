"""genai's graph with MatMulNBits: 4-bit weights in blocks of 16 without zero points (8 is
meant), accuracy_level absent, so weights count as their exact values.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

seed = 1
proto = tiny.genai_decoder(np.random.default_rng(seed), matmul=tiny.int4_matmul(16, False))
expanded = tiny.genai_decoder(
    np.random.default_rng(seed), matmul=tiny.int4_matmul(16, False, expanded=True)
)
rng = random_numbers(__file__)
record = Recorder(__file__, proto)
record.save_model()
ids = rng.integers(0, tiny.TOKENS, (1, 9))
feeds = tiny.token_feeds(ids[:, :5]) | tiny.empty_caches(1, [0])
outputs = record.run("io.npz", feeds, same_as=expanded)
feeds = tiny.token_feeds(ids[:, 5:6], past=5) | tiny.carried(outputs)
outputs = record.run("io_step1.npz", feeds, same_as=expanded)
feeds = tiny.token_feeds(ids[:, 6:], past=6) | tiny.carried(outputs)
record.run("io_chunk.npz", feeds, same_as=expanded)
ids = rng.integers(0, tiny.TOKENS, (2, 5))
feeds = tiny.token_feeds(ids[:, :4], [4, 2]) | tiny.empty_caches(2, [0])
outputs = record.run("io_ragged.npz", feeds, same_as=expanded)
feeds = tiny.token_feeds(ids[:, 4:], [5, 3], past=4) | tiny.carried(outputs)
record.run("io_ragged_step1.npz", feeds, same_as=expanded)
record.finish()
