"""Differentiable Array-API namespace over PyTorch."""

from arraygrad.namespaces import namespace as _namespace
from arraygrad.torch import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "torch")
