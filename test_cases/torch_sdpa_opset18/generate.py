"""A block of linear layers around scaled_dot_product_attention, as torch 2.15 exports it with
dynamo and opset 18. A bool mask, caches joined with the new rows; attention is decomposed. The
model is committed as exported, less its metadata: four heads of 8, two KV heads, random weights.
This script makes inputs and expected outputs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.block import write_block

write_block(__file__)
