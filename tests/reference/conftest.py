"""Puts the samples of tests/ops where these tests can import them.

Imports nothing of arraygrad.
"""

import sys
from pathlib import Path

SAMPLES = str(Path(__file__).resolve().parents[1] / "ops")
if SAMPLES not in sys.path:
    sys.path.append(SAMPLES)
