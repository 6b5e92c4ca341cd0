"""Makes the fakes beside these tests importable. Nothing here imports an array library."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
