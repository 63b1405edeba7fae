"""FastGelu: the bias is added first, then the tanh form."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import activation_case, gelu_tanh

activation_case(__file__, "FastGelu", gelu_tanh, bias=True)
