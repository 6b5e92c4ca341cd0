"""Differentiable Fourier transforms (the standard's fft extension), on the backend of the arguments.

May import: dispatch.
"""

from arraygrad.namespaces import dispatch

__all__: list[str] = []

dispatch.fill(globals(), "fft")
