"""Differentiable Array-API namespace over NumPy: `import arraygrad.numpy as np`."""

from arraygrad import _namespace
from arraygrad.numpy import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "numpy")
