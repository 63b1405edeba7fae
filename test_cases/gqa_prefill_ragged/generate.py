"""A right-padded first prompt: entry 1 has three tokens of six. Its padding rows follow the same
rule (keys [0, 3)), and their K and V are written too.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_cases.lib.gqa import Gqa

Gqa(rows=6, lengths=[6, 3]).write(__file__)
