"""Rows at places that integer arrays name, `x[i]` and `x[i, j]`, and what adds rows there: each one launch.

May import: backends.cuda.prepared, backends.cuda.texts. CuPy is handed in as a module.

CuPy's own indexing by arrays wraps and joins the indices by several kernels, and its `add.at` does so again. Here a
thread finds the place of its element from the indices as they lie. An index wraps at the end of its axis, as CuPy's do.
What is named more than once is added up by atomic additions, as CuPy's are, in no fixed order.
Guarded by tests/gpu/test_gathers.py.
"""

import math

from arraygrad.backends.cuda.prepared import RowLauncher
from arraygrad.backends.cuda.texts import gather_text

__all__ = ["Gathers"]

MOST_AXES = 4  # that are indexed
THREADS = 128
MOST_BLOCKS = 0x7FFFFFFF
_INDICES = frozenset("ilq")


class Gathers:
    """Gathers(cupy, launcher): `taken` reads and `added` adds; each gives None where its kernel does not serve."""

    def __init__(self, cupy, launcher):
        self._cupy = cupy
        self._launcher = launcher
        self._launchers = {}

    def taken(self, x, key):
        """x[key]."""
        if type(x) is not self._cupy.ndarray:
            return None
        parts = self._parts(x, x.shape, key)
        if parts is None or not x.flags.c_contiguous:
            return None
        out = self._cupy.ndarray((*parts[0].shape, *x.shape[len(parts) :]), x.dtype)
        if out.size:
            self._launch("gather", x, parts, out, x.shape, out.size)
        return out

    def added(self, x, shape, key):
        """Zeros of `shape` with x added at `key`, as often as `key` names a place."""
        if type(x) is not self._cupy.ndarray:
            return None
        parts = self._parts(x, shape, key)
        if parts is None or x.shape != (*parts[0].shape, *shape[len(parts) :]):
            return None
        apart = 1 if x.flags.c_contiguous else 0  # of one number everywhere, as the gradient of a sum is, the first
        if not apart and any(x.strides):
            return None
        out = self._cupy.zeros(shape, dtype=x.dtype)
        if x.size:
            self._launch("scatter", x, parts, out, shape, x.size, apart)
        return out

    def _parts(self, x, shape, key):
        """The arrays of a key, all of one shape and integer dtype and in one piece; None: it is another one."""
        parts = key if type(key) is tuple else (key,)
        if not 0 < len(parts) <= min(MOST_AXES, len(shape)) or x.dtype.char not in "fd" or 0 in shape:
            return None
        first = parts[0]
        for part in parts:
            if type(part) is not self._cupy.ndarray or part.dtype.char not in _INDICES or not part.ndim:
                return None
            if part.shape != first.shape or part.dtype != first.dtype or not part.flags.c_contiguous:
                return None
        here = self._cupy.cuda.runtime.getDevice()  # CuPy says what to do elsewhere
        return parts if all(a.data.device_id == here for a in (x, *parts)) else None

    def _launch(self, name, x, parts, out, shape, size, apart=1):
        key = (name, x.dtype.char, parts[0].dtype.char, len(parts))
        launcher = self._launchers.get(key)
        if launcher is None:
            text = gather_text(name, x.dtype, parts[0].dtype, len(parts))
            launcher = self._launchers[key] = RowLauncher(self._launcher, text, f"arraygrad_{name}")
        lengths = shape[: len(parts)]
        inner = math.prod(shape[len(parts) :])
        blocks = min(-(-size // THREADS), MOST_BLOCKS)
        launcher(blocks, (THREADS,), [x, *parts, out, *lengths, inner, size, apart], 0)
