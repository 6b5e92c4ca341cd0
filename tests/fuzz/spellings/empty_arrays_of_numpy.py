"""NumPy's functions of arrays without elements, or nearly: lengths of none and one everywhere, and both byte orders.

The calls of both classes of axes, and beyond them ufuncs, functions of elements, of sets, of polynomials, writes, and
arraygrad's own functions.
"""

from dataclasses import replace

import numpy as np

import arraygrad as ag

from . import axes_of_numpy, axes_of_numpys_pairs
from .arrays_of_numpy import FLOATS, REALS, Draw, spelling

CALLS = 120
UNDECIDED = 0.5  # of nothing there is often no slope


def _is_uninitialized(spelling):
    """A transform of no elements to some, which NumPy leaves uninitialized."""
    return "fft" in spelling.what and spelling.arrays[0].size == 0


class Empty(Draw):
    def __init__(self, rng):
        super().__init__(rng)
        self.lengths = self.one_of((0,), (0, 1), (0, 0, 2), (0, 1, 2))

    def array(self, shape, *arguments, **options):
        made = super().array(shape, *arguments, **options)
        return made.astype(made.dtype.newbyteorder(">")) if self.chance(0.15) else made


UNARY = """
    exp log sin cos tanh sqrt square abs conj real imag angle sign floor isnan isfinite signbit rint cbrt arctan
    sinc i0 deg2rad nan_to_num real_if_close copy ravel fliplr flipud isreal iscomplex unique poly roots polyder
    polyint ediff1d diagflat atleast_2d squeeze transpose argwhere flatnonzero nonzero vander ones_like
    zeros_like unwrap trim_zeros triu_indices_from linalg.inv linalg.det linalg.slogdet linalg.cholesky
    linalg.qr linalg.svdvals linalg.eigvalsh linalg.pinv linalg.matrix_rank linalg.cond linalg.norm bincount
    gradient cov corrcoef median histogram modf frexp
""".split()
BINARY = """
    add multiply subtract divide power arctan2 hypot logaddexp maximum fmin copysign heaviside float_power
    floor_divide remainder divmod equal less matmul dot inner outer kron vdot convolve correlate polyadd polysub
    polymul polyval cross isclose allclose array_equal union1d intersect1d setdiff1d setxor1d isin append
    searchsorted digitize nextafter linalg.solve linalg.lstsq linalg.tensorsolve linalg.multi_dot
    broadcast_arrays tensordot vecdot
""".split()
WRITES = (
    "putmask",
    "place",
    "put",
    "copyto",
    "fill_diagonal",
    "put_along_axis",
    "setitem",
    "mask",
    "add.at",
    "resize",
    "delete",
    "insert",
)
OURS = ("softmax", "log_softmax", "logsumexp", "relu", "sigmoid")


def _unary(d):
    name = d.one_of(*UNARY)
    shape = d.shape(*((2, 3) if name.startswith("linalg") else (0, 3)))
    if name.startswith("linalg") and d.chance(0.7):
        shape = (*shape[:-1], shape[-2])
    return (
        f"np.{name}",
        axes_of_numpy.found(name),
        (d.array(shape, FLOATS if name not in ("unwrap", "bincount") else ("float64",)),),
        {},
    )


def _binary(d):
    name = d.one_of(*BINARY)
    first = d.shape(0, 1 if name.startswith("poly") else 3)
    function = axes_of_numpy.found(name)
    if name == "linalg.multi_dot":
        return "np.linalg.multi_dot", lambda *a: np.linalg.multi_dot(a), d.arrays(first, d.near(first)), {}
    if name == "linalg.lstsq":
        return "np.linalg.lstsq", lambda a, b: function(a, b)[0], d.arrays(first, d.near(first)), {}
    second = d.shape(0, 1) if name.startswith("poly") and name != "polyval" else d.near(first)
    return f"np.{name}", function, d.arrays(first, second), {}


def _write(d):
    name = d.one_of(*WRITES)
    shape = d.shape(1)  # of an array without axes NumPy makes a scalar, which can't be written to
    values = d.array((d.integer(0, 1),) if name == "mask" else d.one_of((0,), (), shape, d.near(shape)), REALS)
    mask = d.rng.random(shape if d.chance(0.8) else d.near(shape)) < 0.6

    def write(a, values):
        a = a * 1.0
        if name == "putmask":
            np.putmask(a, mask, values)
        elif name == "place":
            np.place(a, mask, values)
        elif name == "put":
            np.put(a, np.zeros(values.shape, int), values)
        elif name == "copyto":
            np.copyto(a, values, where=mask)
        elif name == "fill_diagonal":
            np.fill_diagonal(a, values)
        elif name == "put_along_axis":
            np.put_along_axis(a, np.zeros(a.shape, int), values, -1)
        elif name == "setitem":
            a[..., :1] = values
        elif name == "mask":
            a[mask] = values
        elif name == "add.at":
            np.add.at(a, np.zeros(values.shape, int), values)
        elif name == "resize":
            return np.resize(a, values.shape)
        elif name == "delete":
            return np.delete(a, np.zeros(0, int), -1)
        elif name == "insert":
            return np.insert(a, np.zeros(0, int), values, -1)
        return a

    return f"np.{name}(mask={mask!r})", write, (d.array(shape, ("float64", "float32")), values), {}


def _ours(d):
    """arraygrad's own functions, by formulas of NumPy's."""
    name = d.one_of(*OURS)
    a = d.array(d.shape(1), REALS)
    if name in ("relu", "sigmoid"):
        options, plain = {}, {"relu": lambda a: np.maximum(a, 0), "sigmoid": lambda a: 1 / (1 + np.exp(-a))}[name]
    else:
        options = {"axis": d.integer(-a.ndim, a.ndim - 1)}

        def plain(a, axis):
            top = np.max(a, axis=axis, keepdims=True, initial=-np.inf)
            total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True))
            if name == "logsumexp":
                return np.squeeze(top + total, axis)
            return a - top - total if name == "log_softmax" else np.exp(a - top - total)

    made = spelling(f"ag.{name}", getattr(ag, name), (a,), options)
    return made, plain, options


MAKERS = (*axes_of_numpys_pairs.MAKERS, *axes_of_numpy.MAKERS, *[_unary] * 4, *[_binary] * 4, *[_write] * 2)


def draw(rng):
    d = Empty(rng)
    if d.chance(0.05):
        made, plain, options = _ours(d)
        return replace(made, plain=lambda a: plain(a, **options), dtypes=False, value_rtol=1e-4)
    made = spelling(*d.one_of(*MAKERS)(d), order=d.one_of(1, 1, 2), rtol=1e-5)
    if _is_uninitialized(made):
        return draw(rng)
    return replace(made, dtypes=all(a.dtype.isnative for a in made.arrays))
