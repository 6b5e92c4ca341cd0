"""Differentiable Fourier transforms over NumPy (the standard's fft extension)."""

from arraygrad.namespaces import namespace
from arraygrad.numpy_api import handlers

__all__: list[str] = []

namespace.build_extension(globals(), "numpy", "fft")


def __getattr__(name):
    return handlers.numpy_name(__name__, name)
