"""Backend of array_api_strict, the library that allows nothing but the standard: rules that run here run anywhere.

May import: backends.generic, backends.repaired, array_api_strict.

Its devices are pretended ("CPU_DEVICE", "device1", ...), which makes it the test bed for several devices without a
GPU: CPU_DEVICE is the host, the others have keys ("array_api_strict", "device1") and a worker thread each.
"""

import array_api_strict

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.repaired import RepairedNamespace, one_triangle

__all__ = ["StrictBackend", "raw_namespace", "register"]


_raw = RepairedNamespace(
    array_api_strict, {}, linalg=one_triangle(array_api_strict, mirror=False, functions=("cholesky",))
)


def raw_namespace():
    """The module array_api_strict, with a cholesky that reads the triangle that NumPy's reads."""
    return _raw


_made: dict[type, GenericBackend] = {}  # of threads that see the first array of a type at once, all get the same


def register(obj):
    """Make and register the backend of array_api_strict's arrays."""
    array_type = type(obj)
    backend = _made.setdefault(array_type, StrictBackend("array_api_strict", _raw, array_type, True))
    return attach(backend, "array_api_strict", array_type)


class StrictBackend(GenericBackend):
    """array_api_strict: NumPy memory behind a class that refuses everything outside the standard."""

    def device_key(self, device):
        """("array_api_strict", "device1") and the like; None for CPU_DEVICE."""
        name = device_name(device)
        return None if name == "CPU_DEVICE" else ("array_api_strict", name)

    def exclusive(self, grad):
        """Never: a reference count says nothing about the NumPy array inside."""
        return False

    def content_token(self, raw):
        """The bytes of the NumPy array inside: this library is there for tests, not for speed."""
        return raw._array.tobytes()

    def memory(self, array):
        """Extent of the NumPy array inside; the class itself shows no address on every Python."""
        return super().memory(array._array)


def device_name(device):
    """ "device1" of array_api_strict.Device("device1"): its str() is the long form."""
    text = str(device)
    return text.partition("'")[2].rpartition("'")[0] or text
