"""Differentiable Fourier transforms (the standard's fft extension), on the backend of the arguments.

May import: _dispatch.
"""

from arraygrad import _dispatch

__all__: list[str] = []

_dispatch.fill(globals(), "fft")
