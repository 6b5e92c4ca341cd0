"""Differentiable Fourier transforms over NumPy (the standard's fft extension)."""

from arraygrad import _namespace, _protocols

__all__: list[str] = []

_namespace.build_extension(globals(), "numpy", "fft")


def __getattr__(name):
    return _protocols.numpy_name(__name__, name)
