"""int4 data: nothing is subtracted without zero points."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ml_dtypes

from test_cases.lib.microsoft import gather_block_quantized_case

gather_block_quantized_case(__file__, element=ml_dtypes.int4)
