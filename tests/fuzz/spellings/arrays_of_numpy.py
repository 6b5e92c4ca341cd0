"""What the classes of NumPy's calls draw their arguments with: shapes, arrays, axes. No class of its own."""

import numpy as np

from .spelling import Spelling

FLOATS = ("float64", "float64", "float64", "float32", "complex128")
REALS = ("float64", "float64", "float64", "float32")


class Draw:
    """Arguments at random from `rng`: lengths of 1 to 3, and none where `empty` says so."""

    def __init__(self, rng, empty=0.12):
        self.rng = rng
        self.lengths = (1, 2, 3) if rng.random() > empty else (0, 1, 2)

    def chance(self, p):
        return self.rng.random() < p

    def one_of(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, least=0, most=3):
        return tuple([self.one_of(*self.lengths) for _ in range(self.integer(least, most))])

    def near(self, shape, least=0):
        """A shape that often broadcasts with `shape`: fewer or more axes, some of length one."""
        n = self.integer(max(least, len(shape) - 2), len(shape) + 1)
        full = (*[self.one_of(1, 2) for _ in range(max(n - len(shape), 0))], *shape[max(len(shape) - n, 0) :])
        return tuple([1 if self.chance(0.15) else m for m in full])

    def axis(self, ndim, beyond=0.08):
        """An axis of either sign; now and then one that is out of bounds."""
        if self.chance(beyond) or not ndim:
            return self.one_of(ndim, -ndim - 1, 0, -1)
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim):
        """None, an axis, or a tuple of some."""
        if self.chance(0.2):
            return None
        if self.chance(0.6) or not ndim:
            return self.axis(ndim)
        n = self.integer(0, ndim)
        chosen = self.rng.permutation(ndim)[:n]
        return tuple([int(i) - (ndim if self.chance(0.5) else 0) for i in chosen])

    def array(self, shape, dtypes=FLOATS, positive=False, dtype=None):
        dtype = np.dtype(dtype or self.one_of(*dtypes))
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.6
        if dtype.kind in "iu":
            return self.rng.integers(1, 5, size=shape).astype(dtype)
        values = self.rng.normal(size=shape)
        if positive:
            values = 0.5 + np.abs(values)
        if dtype.kind == "c":
            values = values + 1j * self.rng.normal(size=shape)
        return np.asarray(values).astype(dtype)

    def arrays(self, *shapes, **options):
        return tuple([self.array(shape, **options) for shape in shapes])


def spelling(name, function, arrays, options=None, more=(), order=1, **rest):
    """The call `function(*arrays, *more, **options)`; `name` is what a reader would write for the function."""
    options = options or {}

    def call(*arrays):
        return function(*arrays, *more, **options)

    shown = [*[f"{a!r}" for a in arrays], *[f"{m!r}" for m in more], *[f"{k}={v!r}" for k, v in options.items()]]
    return Spelling(f"{name}({', '.join(shown)})", call, call, tuple(arrays), order=order, **rest)
