"""The calls of tests/ops: drawn from the signatures (test_structure), and written out (samples)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
sys.path.insert(0, str(Path(__file__).parent))
