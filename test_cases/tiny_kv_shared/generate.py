"""Two layers of which the second borrows the first one's cache: key and value of length zero,
its past is the first layer's present.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
record = Recorder(__file__, tiny.kv_shared_decoder(rng))
record.save_model()
ids = rng.integers(0, tiny.TOKENS, (1, 9))
feeds = tiny.token_feeds(ids[:, :5]) | tiny.empty_caches(1, [0])
outputs = record.run("io.npz", feeds)
feeds = tiny.token_feeds(ids[:, 5:6], past=5) | tiny.carried(outputs)
outputs = record.run("io_step1.npz", feeds)
feeds = tiny.token_feeds(ids[:, 6:], past=6) | tiny.carried(outputs)
record.run("io_chunk.npz", feeds)
ids = rng.integers(0, tiny.TOKENS, (2, 5))
feeds = tiny.token_feeds(ids[:, :4], [4, 2]) | tiny.empty_caches(2, [0])
outputs = record.run("io_ragged.npz", feeds)
feeds = tiny.token_feeds(ids[:, 4:], [5, 3], past=4) | tiny.carried(outputs)
record.run("io_ragged_step1.npz", feeds)
record.finish()
