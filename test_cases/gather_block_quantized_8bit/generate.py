"""8 bits: 128 is subtracted."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import gather_block_quantized_case

gather_block_quantized_case(__file__, bits=8)
