"""genai's graph as its runtime drives it: past and present are one buffer of 16 rows while
attention_mask has the true length. The declared symbol total_sequence_length then has two
values; the one that inputs give counts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
caches = [f"{layer}.{part}" for layer in range(2) for part in ("key", "value")]
in_place = {f"past_key_values.{name}": f"present.{name}" for name in caches}
record = Recorder(__file__, tiny.genai_decoder(rng, layers=2), in_place)
record.save_model()
ids = rng.integers(0, tiny.TOKENS, (1, 7))
feeds = tiny.token_feeds(ids[:, :5]) | tiny.empty_caches(1, [16, 16])
outputs = record.run("io.npz", feeds, strict=False)
feeds = tiny.token_feeds(ids[:, 5:6], past=5) | tiny.carried(outputs)
outputs = record.run("io_step1.npz", feeds, strict=False)
feeds = tiny.token_feeds(ids[:, 6:], past=6) | tiny.carried(outputs)
record.run("io_step2.npz", feeds, strict=False)
record.finish()
