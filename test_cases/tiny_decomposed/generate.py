"""Attention spelled out as exporters without an attention operator write it: Concat on the past,
repeated KV heads, MatMul, scale, causal mask by Range and Where, Softmax, MatMul. The meaning
is one attention with an offset of the past length.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from test_cases.lib import tiny
from test_cases.lib.case import random_numbers
from test_cases.lib.recorder import Recorder

rng = random_numbers(__file__)
record = Recorder(__file__, tiny.decomposed_decoder(rng))
record.save_model()
past = tiny.empty_caches(2, [0])
for index, rows in enumerate((4, 1, 3)):
    embeds = rng.standard_normal((2, rows, tiny.HIDDEN)).astype(np.float32)
    outputs = record.run(
        "io.npz" if index == 0 else f"io_step{index}.npz", {"inputs_embeds": embeds} | past
    )
    past = tiny.carried(outputs)
record.finish()
