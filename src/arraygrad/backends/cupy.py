"""Backend of cupy.ndarray: arrays on CUDA devices, with streams.

May import: backends.generic, backends.streams, cupy, array-api-compat.
"""

import array_api_compat.cupy
import cupy

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.streams import CupyRuntime

__all__ = ["CupyBackend", "raw_namespace", "register"]


class CupyBackend(GenericBackend):
    """cupy.ndarray: written in place, slices are views, one worker thread per device, nodes on their own streams."""

    def device_key(self, device):
        """("cupy", "cuda", number): a cupy.cuda.Device can't be hashed."""
        return ("cupy", "cuda", int(device))

    def device_of(self, array):
        """cupy.cuda.Device of an array."""
        return array.device

    def clone(self, array, like):
        """A copy in the memory order of `array`."""
        return array.copy(order="K")

    def asarray(self, obj, dtype, device):
        """An array on `device`, on the current one where none is named."""
        return self.xp.asarray(obj, dtype=dtype, device=device)

    def scalar(self, x):
        """A NumPy scalar as a Python scalar; a 0-d array of CuPy's as it is, without waiting for the device."""
        return x if isinstance(x, cupy.ndarray) else super().scalar(x)


def raw_namespace():
    """array-api-compat's namespace over cupy."""
    return array_api_compat.cupy


BACKEND = CupyBackend("cupy", array_api_compat.cupy, cupy.ndarray, True, CupyRuntime(cupy.cuda))
attach(BACKEND, "cupy", cupy.ndarray)


def register(obj):
    """The backend of cupy.ndarray; subclasses are refused."""
    cls = type(obj)
    if cls is cupy.ndarray:
        return BACKEND
    raise TypeError(
        f"{cls.__module__}.{cls.__qualname__} is a subclass of cupy.ndarray whose operations arraygrad does not know; "
        "give cupy.asarray(x)"
    )
