"""Shows the helpers of this folder to its tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
