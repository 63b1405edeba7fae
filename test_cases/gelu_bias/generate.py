"""BiasGelu: the bias is added first, then the exact form."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import activation_case, gelu

activation_case(__file__, "BiasGelu", gelu, bias=True)
