"""Differentiable Array-API namespace over NumPy: `import arraygrad.numpy as np`.

Beyond the standard it has those functions of NumPy that are served on Tensors (`vstack`, `power`, `linalg.norm`).
"""

from arraygrad.namespaces import namespace as _namespace
from arraygrad.numpy import fft, linalg
from arraygrad.numpy_api import handlers

__all__: list[str] = []

_namespace.build(globals(), "numpy")


def __getattr__(name):
    if name == "special":
        return _namespace.lazy_part(__name__, name)
    return handlers.numpy_name(__name__, name)
