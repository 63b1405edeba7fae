"""Rotary outside the attention: com.microsoft RotaryEmbedding with position_ids, then
GroupQueryAttention with do_rotary 0.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
record = Recorder(__file__, tiny.external_rotary_decoder(rng))
record.save_model()
ids = rng.integers(0, tiny.TOKENS, (2, 6))
positions = {"position_ids": np.array([np.arange(5), [0, 1, 2, 0, 0]])}
feeds = tiny.token_feeds(ids[:, :5], [5, 3]) | positions | tiny.empty_caches(2, [0])
outputs = record.run("io.npz", feeds)
positions = {"position_ids": np.array([[5], [3]])}
feeds = tiny.token_feeds(ids[:, 5:], [6, 4], past=5) | positions | tiny.carried(outputs)
record.run("io_step1.npz", feeds)
record.finish()
