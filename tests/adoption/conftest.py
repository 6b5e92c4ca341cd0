"""Makes the helpers of the tests of NumPy's functions importable here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "numpy_api"))
