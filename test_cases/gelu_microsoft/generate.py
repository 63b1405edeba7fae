"""com.microsoft.Gelu: the exact form."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.microsoft import activation_case, gelu

activation_case(__file__, "Gelu", gelu)
