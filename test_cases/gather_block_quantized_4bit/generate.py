"""GatherBlockQuantized over uint8: 8 is subtracted; the last block is short."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import gather_block_quantized_case

gather_block_quantized_case(__file__)
