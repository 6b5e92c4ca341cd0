"""Makes the helpers of the tests of custom Functions importable here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "autograd"))
