"""A CUDA device in host memory under CuPy's own code: what its tests may ask and command. See README.md."""

import contextlib
import ctypes
import os

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("HOST_CUDA_CACHE") or os.path.join(HERE, "cache")

_COUNTERS = (
    "launch",
    "sync",
    "malloc",
    "free",
    "to_device",
    "to_host",
    "on_device",
    "record",
    "wait",
    "memset",
    "set_device",
    "query",
    "module",
    "illegal",
)


def library() -> ctypes.CDLL:
    """The device; the symbols of its kernels' libraries are looked up in it."""
    global _library
    if _library is None:
        _library = ctypes.CDLL(os.path.join(HERE, "lib", "libhostcuda.so"), mode=ctypes.RTLD_GLOBAL)
        _library.hc_counter.restype = ctypes.c_longlong
        _library.hc_mode.restype = ctypes.c_char_p
    return _library


_library = None


def counters() -> dict[str, int]:
    """How often what was called since the last `reset_counters()`; what never was is left out."""
    return {name: n for i, name in enumerate(_COUNTERS) if (n := library().hc_counter(i))}


def waits() -> int:
    """How often the host waited for a device or copied from one; what NumPy does in place of CUDA's is left out."""
    return _all_waits() - _aside


def _all_waits() -> int:
    found = counters()
    return found.get("sync", 0) + found.get("to_host", 0)


_aside = 0  # waits for NumPy's sake: of sorting, `cupy.linalg`, `cupy.fft`


@contextlib.contextmanager
def aside():
    """What waits within the block is not counted by `waits`."""
    global _aside
    before = _all_waits()
    try:
        yield
    finally:
        _aside += _all_waits() - before


def reset_counters() -> None:
    """Sets all counters to zero."""
    global _aside
    _aside = 0
    library().hc_reset_counters()


def waiting() -> int:
    """The work issued to streams and not run yet: always 0 in eager mode."""
    return library().hc_waiting()


def finish_all() -> None:
    """Runs all work of all devices."""
    library().hc_finish_all()


def mode() -> str:
    """`eager`, `random` or `lazy`."""
    return library().hc_mode().decode()
