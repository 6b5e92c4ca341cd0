"""NumPy's functions that are recorded as one node (numpy_api/primitives.py), beside the composed ones.

Values are NumPy's, bit by bit. Gradients of first and second order are those of the functions composed of the table's
operations, which other tests hold to central differences.
"""

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.autograd.graph_hooks import op_hooks
from arraygrad.core.protocols import set_compiled_protocols
from arraygrad.numpy_api import primitives

NAN = np.nan
_rng = np.random.default_rng(11)


def real(*shape):
    return _rng.normal(size=shape)


def holes(*shape):
    """Numbers of which some are nan, a row of them in the first column's place, and some tie."""
    a = np.round(_rng.normal(size=shape), 1)
    a.reshape(-1)[::5] = NAN
    a.reshape(-1)[1::6] = 0.5
    return a


def square(n):
    return real(n, n) + 3.0 * np.eye(n)


def constant(a, like):
    """The array, a Tensor where the other is one: what numpy.full_like looks at to find whom to ask."""
    a = np.asarray(a, like.dtype)
    return ag.tensor(a) if isinstance(like, ag.Tensor) else a


PLACES = np.array([2, 0, 2])
WIDE = np.array([[True, False, True], [False, False, True]])
MASK = np.array([True, False, True])

# name in NumPy: [(call, arrays)]
CASES = {
    "rollaxis": [(lambda f, x: f(x, 2), [real(2, 3, 4)]), (lambda f, x: f(x, -1), [real(2, 3)])],
    "cumsum": [(lambda f, x: f(x, 1), [real(3, 4)]), (lambda f, x: f(x, axis=-1), [real(3, 4)])],
    "cumprod": [(lambda f, x: f(x, axis=0), [real(3, 4)])],
    "sort": [(lambda f, x: f(x), [real(3, 4)]), (lambda f, x: f(x, axis=0), [real(3, 4)])],
    "tril": [(lambda f, x: f(x), [real(3, 4)]), (lambda f, x: f(x, k=1), [real(3, 3)])],
    "triu": [(lambda f, x: f(x, -1), [real(3, 4)])],
    "diff": [(lambda f, x: f(x), [real(3, 4)]), (lambda f, x: f(x, 2, axis=0), [real(4, 3)])],
    "roll": [(lambda f, x: f(x, 2), [real(3, 4)]), (lambda f, x: f(x, -1, axis=1), [real(3, 4)])],
    "tile": [(lambda f, x: f(x, (2, 1)), [real(2, 3)])],
    "clip": [(lambda f, x: f(x, -0.5, 0.5), [real(3, 4)])],
    "full_like": [
        (lambda f, x: f(constant(np.ones((2, 3)), x), x), [real()]),
        (lambda f, x: f(constant(np.ones((3, 2)).T, x), x), [real()]),
        (lambda f, x, y: f(x, y[0]), [real(2, 3), real(2)]),
    ],
    "linspace": [
        (lambda f, x, y: f(x, y), [real(), real()]),
        (lambda f, x, y: f(x, y, 5, endpoint=False), [real(), real()]),
        (lambda f, x: f(x, 2.0, 4), [real()]),
        (lambda f, x: f(1, x, 1), [real()]),
        (lambda f, x: f(x, 2.0, 0), [real()]),
    ],
    "angle": [(lambda f, x: f(x), [real(5)]), (lambda f, x: f((1.0 + 2.0j) * x + 3.0j), [real(3, 4)])],
    "outer": [(lambda f, x, y: f(x, y), [real(3), real(4)])],
    "linalg.norm": [
        (lambda f, x: f(x, 1), [real(3, 4)]),
        (lambda f, x: f(x.T, ord=np.inf), [real(3, 4)]),
        (lambda f, x: f(x, -1), [real(3, 4)]),
        (lambda f, x: f(x, -np.inf), [real(4, 3)]),
        (lambda f, x: f(constant(np.ones((3, 4)), x) + 0.0 * x, 1), [real(3, 4)]),
        (lambda f, x: f(x, 2), [real(3, 4)]),
        (lambda f, x: f(x, -2.0), [real(4, 3)]),
        (lambda f, x: f(x, "nuc"), [real(3, 4)]),
    ],
    "kron": [
        (lambda f, x, y: f(x, y), [real(2, 3), real(4, 2)]),
        (lambda f, x, y: f(x, y), [real(0, 3), real(4, 2)]),
        (lambda f, x: f(x.T, (1.0 + 2.0j) * x + 3.0j), [real(2, 3)]),
        (lambda f, x: f((1.0 - 2.0j) * x.T, (1.0 + 2.0j) * x + 3.0j), [real(2, 3)]),
        (lambda f, x: f(np.ones((2, 2)), x), [real(2, 3)]),
    ],
    "concatenate": [
        (lambda f, x, y: f((x, y)), [real(2, 3), real(1, 3)]),
        (lambda f, x: f([x, np.ones((2, 2)), x], axis=1), [real(2, 3)]),
    ],
    "stack": [(lambda f, x, y: f((x, y)), [real(2, 3), real(2, 3)]), (lambda f, x: f([x, x], axis=-1), [real(3)])],
    "where": [
        (lambda f, x, y: f(MASK, x, y), [real(2, 3), real(3)]),
        (lambda f, x: f(x > 0, x, 0.0), [real(2, 3)]),
        (lambda f, x: f(MASK, 1, x), [real(3)]),
    ],
    "take": [(lambda f, x: f(x, PLACES, axis=1), [real(2, 3)]), (lambda f, x: f(x, PLACES, 0), [real(4)])],
    "tensordot": [
        (lambda f, x, y: f(x, y), [real(2, 3), real(2, 3)]),
        (lambda f, x, y: f(x, y, axes=([1], [0])), [real(2, 3), real(3, 2)]),
        (lambda f, x, y: f(x, y, 1), [real(3), real(3)]),
    ],
    "cross": [
        (lambda f, x, y: f(x, y), [real(2, 3), real(3)]),
        (lambda f, x: f(x, [1.0, 2.0, 3.0]), [real(3)]),
        (lambda f, x, y: f(x, y, axis=0), [real(3, 2), real(3, 2)]),
    ],
    "trace": [(lambda f, x: f(x), [real(3, 4)])],
    "vdot": [(lambda f, x, y: f(x, y), [real(4), real(4)])],
    "vecdot": [(lambda f, x, y: f(x, y), [real(4), real(4)]), (lambda f, x, y: f(x, y), [real(2, 4), real(4)])],
    "linalg.inv": [(lambda f, x: f(x), [square(3)])],
    "linalg.det": [(lambda f, x: f(x), [square(3)]), (lambda f, x: f(x), [real(2, 2, 2)])],
    "linalg.slogdet": [(lambda f, x: f(x)[1], [square(3)])],
    "linalg.cholesky": [(lambda f, x: f(x @ x.T), [square(3)])],
    "linalg.eigh": [(lambda f, x: f(x + x.T)[0], [square(3)])],
    "linalg.eigvalsh": [(lambda f, x: f(x + x.T), [square(3)])],
    "linalg.eig": [(lambda f, x: f(x + x.T)[0], [square(3)])],
    "linalg.eigvals": [(lambda f, x: f(x + x.T), [square(3)])],
    "linalg.svdvals": [(lambda f, x: f(x), [real(3, 4)])],
    "linalg.qr": [(lambda f, x: f(x)[1], [real(4, 3)])],
    "linalg.solve": [(lambda f, x, y: f(x, y), [square(3), real(3, 2)])],
    "linalg.pinv": [(lambda f, x: f(x), [real(4, 3)])],
    "linalg.matrix_power": [(lambda f, x: f(x, 3), [square(3)])],
    "heaviside": [(lambda f, x, y: f(x, y), [np.array([-1.0, 0.0, 2.0, 0.0]), real(4)])],
    "ldexp": [(lambda f, x: f(x, np.array([1, -2, 3])), [real(3)]), (lambda f, x: f(x, 2), [real(2, 3)])],
    "modf": [(lambda f, x: f(x), [np.array([1.5, -2.25, np.inf, -np.inf, 0.0])])],
    "divmod": [(lambda f, x, y: f(x, y)[1], [5 * real(3, 4), np.abs(real(4)) + 0.2])],
    "frexp": [(lambda f, x: f(x)[0], [np.array([1.5, -200.0, 0.3])])],
    "nansum": [(lambda f, x: f(x), [holes(3, 4)]), (lambda f, x: f(x, axis=(0, 2), keepdims=True), [holes(2, 3, 4)])],
    "nanmean": [(lambda f, x: f(x, 0), [holes(3, 4)]), (lambda f, x: f(x, axis=-1, keepdims=True), [holes(4, 5)])],
    "nanmax": [(lambda f, x: f(x), [holes(3, 4)]), (lambda f, x: f(x, axis=1), [holes(3, 4)])],
    "nanmin": [(lambda f, x: f(x, axis=0, keepdims=True), [holes(4, 5)])],
    "nanprod": [
        (lambda f, x: f(x, axis=0), [np.array([[1.5, 0.0, NAN], [2.0, 0.0, 3.0], [0.5, 4.0, 0.0]])]),
        (lambda f, x: f(x), [np.array([1e-200, 2.0, 1e-200, NAN])]),
        (lambda f, x: f(x), [holes(3, 4)]),
        (lambda f, x: f(x, axis=1), [holes(3, 4)]),
    ],
    "nanvar": [
        (lambda f, x: f(x, axis=0), [holes(4, 5)]),
        (lambda f, x: f(x, 1, ddof=1, keepdims=True), [holes(3, 6)]),
        (lambda f, x: f(x, axis=(0, 2)), [holes(2, 3, 4)]),
        (lambda f, x: f(x), [real(3, 4)]),
    ],
    "nanstd": [
        (lambda f, x: f(x, axis=1), [holes(3, 5)]),
        (lambda f, x: f(x, axis=0, ddof=2), [real(5, 3)]),
        (lambda f, x: f(x), [holes(3, 4)]),
    ],
    "nancumsum": [(lambda f, x: f(x), [holes(3, 4)]), (lambda f, x: f(x, axis=0), [holes(3, 4)])],
    "nancumprod": [
        (lambda f, x: f(x), [np.array([1.5, 0.0, NAN, 2.0, 0.0, 3.0])]),
        (lambda f, x: f(x), [holes(2, 4)]),
        (lambda f, x: f(x, 1), [holes(3, 4)]),
    ],
    "nan_to_num": [
        (lambda f, x: f(x), [np.array([1.0, NAN, np.inf, -np.inf])]),
        (lambda f, x: f(x, nan=2.0), [holes(4)]),
    ],
    "median": [
        (lambda f, x: f(x, axis=0), [real(4, 5)]),
        (lambda f, x: f(x, 1, keepdims=True), [np.round(real(4, 5), 1)]),
        (lambda f, x: f(x), [real(3, 5)]),
        (lambda f, x: f(x, axis=1), [holes(4, 6)]),
        (lambda f, x: f(x, axis=(0, 2)), [real(2, 3, 4)]),
    ],
    "nanmedian": [(lambda f, x: f(x, axis=0), [holes(4, 5)]), (lambda f, x: f(x), [holes(3, 4)])],
    "quantile": [
        (lambda f, x: f(x, 0.3), [real(3, 4)]),
        (lambda f, x: f(x, [0.0, 0.25, 1.0], axis=1), [real(3, 5)]),
        (lambda f, x: f(x, np.array([[0.1], [0.6]]), axis=0, keepdims=True), [real(4, 2)]),
        (lambda f, x: f(x, 0.4, axis=1), [holes(4, 4)]),
    ],
    "percentile": [
        (lambda f, x: f(x, 30, axis=0), [real(4, 3)]),
        (lambda f, x: f(x, [10, 50]), [np.round(real(4, 3))]),
    ],
    "nanquantile": [(lambda f, x: f(x, 0.3, axis=0), [holes(5, 4)])],
    "nanpercentile": [(lambda f, x: f(x, [20, 70], axis=1), [holes(4, 6)])],
    "partition": [
        (lambda f, x: f(x, 2), [real(4, 6)]),
        (lambda f, x: f(x, 1, axis=0), [real(5, 3)]),
        (lambda f, x: f(x, -1), [real(7)]),
    ],
    "bincount": [
        (lambda f, w: f(np.array([0, 2, 2, 1]), w), [real(4)]),
        (lambda f, w: f(np.array([1, 1, 3]), w, minlength=6), [real(3)]),
    ],
    "delete": [
        (lambda f, x: f(x, 1), [real(3, 2)]),
        (lambda f, x: f(x, PLACES, axis=0), [real(4, 2)]),
        (lambda f, x: f(x, slice(0, 2), axis=1), [real(3, 4)]),
        (lambda f, x: f(x, -2, axis=-2), [real(2, 3, 2)]),
        (lambda f, x: f(x, 0, 0), [real(4)]),
    ],
    "resize": [
        (lambda f, x: f(x, (3, 5)), [real(2, 3)]),
        (lambda f, x: f(x, (2, 2)), [real(2, 3)]),
        (lambda f, x: f(x, 12), [real(2, 3)]),
        (lambda f, x: f(x, [2, 3, 2]), [real(5)]),
    ],
    "insert": [
        (lambda f, x, y: f(x, 1, y, axis=0), [real(3, 2), real(2)]),
        (lambda f, x, y: f(x, -1, y, axis=0), [real(3, 2), real(2, 2)]),
        (lambda f, x, y: f(x, 3, y, 0), [real(3, 2, 2), real(2, 1)]),
        (lambda f, x, y: f(x, 0, y, 0), [real(3), real(2)]),
        (lambda f, x, y: f(x, 1, y), [real(3), real(2)]),
        (lambda f, x, y: f(x, [-1], y), [real(3), real(2)]),
        (lambda f, x, y: f(x, [2], y, axis=1), [real(2, 4), real(2, 3)]),
        (lambda f, x: f(x, [0, 2], 1.5), [real(2, 2)]),
        (lambda f, y: f(np.arange(4.0), 2, y), [real(1)]),
        (lambda f, x, y: f(x, [1, 1, 3], y, axis=1), [real(2, 4), real(2, 1)]),
        (lambda f, x, y: f(x, 1, y, axis=1), [real(2, 4), real(2)]),
        (lambda f, x, y: f(x, -1, y, axis=1), [real(2, 4, 3), real(2, 2, 3)]),
        (lambda f, x, y: f(x, 2, y, axis=-1), [real(2, 4, 3), real(3, 2, 1)]),
        (lambda f, x, y: f(x, 4, y), [real(2, 3), real(2)]),
        (lambda f, x: f(x, 1, 2.5, axis=1), [real(2, 3)]),
        (lambda f, x, y: f(x, 0, y), [real(3), real()]),
    ],
    "append": [
        (lambda f, x, y: f(x, y), [real(3, 2), real(2)]),
        (lambda f, x, y: f(x, y, axis=1), [real(3, 2), real(3, 4)]),
        (lambda f, x: f(x, 2.0), [real(3)]),
    ],
    "diag": [(lambda f, x: f(x), [real(3)]), (lambda f, x: f(x, k=-2), [real(3)])],
    "diagflat": [(lambda f, x: f(x), [real(2, 2)]), (lambda f, x: f(x, 1), [real(3)])],
    "compress": [(lambda f, x: f(MASK, x, axis=1), [real(2, 3)]), (lambda f, x: f(MASK, x), [real(2, 3)])],
    "extract": [(lambda f, x: f(x.detach().numpy() > 0.0 if isinstance(x, ag.Tensor) else x > 0.0, x), [real(3, 4)])],
    "select": [
        (lambda f, x, y: f([WIDE, ~WIDE], [x, y]), [real(2, 3), real(2, 3)]),
        (lambda f, x, y: f([WIDE, WIDE], (x, y), 7.0), [real(2, 3), real(2, 3)]),
        (lambda f, x, y: f((WIDE[:1], ~WIDE), [x, y]), [real(2, 3), real(3)]),
    ],
    "choose": [(lambda f, x, y: f(np.array([[0, 1], [1, 0]]), [x, y]), [real(2, 2), real(2)])],
    "block": [
        (lambda f, x, y: f([x, y]), [real(3), real(2)]),
        (lambda f, x, y, z: f([x, y, z]), [real(2, 3), real(2, 1), real(2, 2)]),
        (lambda f, x, y: f([x, y]), [real(1, 3), real(2)]),
        (lambda f, x, y: f([x, y[0]]), [real(3), real(2)]),
        (lambda f, x: f([x]), [real(2, 2)]),
    ],
    "vstack": [
        (lambda f, x, y: f([x, y]), [real(3), real(2, 3)]),
        (lambda f, x: f((x, np.ones(2, x.dtype))), [real(2)]),
        (lambda f, x, y, z: f([x, y, z]), [real(3), real(3), real(3)]),
    ],
    "hstack": [
        (lambda f, x, y: f([x, y]), [real(3), real(2)]),
        (lambda f, x, y: f((x, y)), [real(2, 3), real(2, 1)]),
        (lambda f, x, y, z: f((x, y, z)), [real(2, 3), real(2, 1), real(2, 2)]),
        (lambda f, x: f((np.ones((2, 1), x.dtype), x)), [real(2, 3)]),
    ],
    "dstack": [
        (lambda f, x, y: f([x, y]), [real(3), real(3)]),
        (lambda f, x, y: f([x, y]), [real(2, 3), real(2, 3)]),
        (lambda f, x, y: f([x, y]), [real(2, 3), real(2, 3, 2)]),
    ],
    "column_stack": [
        (lambda f, x, y: f([x, y]), [real(3), real(3, 2)]),
        (lambda f, x, y: f([x, y]), [real(3), real(3)]),
    ],
    "ediff1d": [(lambda f, x: f(x), [real(5)]), (lambda f, x: f(x), [real(2, 3)])],
    "vander": [(lambda f, x: f(x), [real(3)]), (lambda f, x: f(x, 5, increasing=True), [real(3)])],
    "gradient": [(lambda f, x: f(x), [real(n)]) for n in (2, 3, 4, 7)] + [(lambda f, x: f(x, 0.5), [real(6)])],
    "interp": [
        (lambda f, x, k, v: f(x, np.sort(k), v), [3 * real(2, 4), real(5), real(5)]),
        (lambda f, x, v: f(x, np.arange(4.0), v), [np.array([-1.0, 0.0, 1.0, 1.5, 3.0, 4.0, NAN]), real(4)]),
        (lambda f, x, v: f(x, np.array([1.0]), v), [np.array([0.0, 2.0, NAN]), real(1)]),
    ],
    "convolve": [
        (lambda f, x, y, mode=mode: f(x, y, mode), [real(n), real(m)])
        for mode in ("full", "same", "valid")
        for n, m in ((6, 3), (3, 6), (5, 4), (1, 2))
    ],
    "correlate": [
        (lambda f, x, y, mode=mode: f(x, y, mode=mode), [real(n), real(m)])
        for mode in ("full", "same", "valid")
        for n, m in ((6, 3), (3, 6), (5, 4), (4, 5), (2, 1))
    ],
    "trapezoid": [
        (lambda f, x: f(x), [real(5)]),
        (lambda f, x: f(x), [real(1)]),
        (lambda f, x: f(x, axis=0), [real(1, 3)]),
        (lambda f, x: f(x, dx=0.3, axis=0), [real(4, 3)]),
        (lambda f, x: f(x, axis=-2), [real(2, 2, 3)]),
        (lambda f, y, x: f(1.0 * y, 1.0 * x), [real(5), real(5)]),  # NumPy keeps small dtypes, where sums wrap
        (lambda f, y: f(y, np.array([0.0, 0.5, 2.0])), [real(3)]),
        (lambda f, x: f(np.array([0.0, 0.5]), x), [real(2)]),
    ],
    "cov": [
        (lambda f, x: f(x), [real(3, 5)]),
        (lambda f, x: f(x, rowvar=False, ddof=0), [real(5, 2)]),
        (lambda f, x: f(x, bias=True), [real(6)]),
    ],
    "corrcoef": [(lambda f, x: f(x), [real(3, 5)]), (lambda f, x: f(x, rowvar=False), [real(6, 2)])],
    "unwrap": [
        (lambda f, x: f(x), [0.1 * real(3, 4)]),
        (lambda f, x: f(x), [9 * real(2, 6)]),
        (lambda f, x: f(x), [9 * real(6)]),
    ],
    "logspace": [(lambda f, x, y: f(x, y, 5), [real(), real()]), (lambda f, x: f(x, 1.0, 4), [real()])],
    "polyadd": [(lambda f, x, y: f(x, y), [real(3), real(5)])],
    "polysub": [(lambda f, x, y: f(x, y), [real(4), real(2)])],
    "polyint": [(lambda f, x: f(x), [real(4)]), (lambda f, x: f(x, m=2), [real(3)])],
    "polyder": [
        (lambda f, x: f(x), [real(5)]),
        (lambda f, x: f(x, m=2), [real(5)]),
        (lambda f, x: f(x), [real(2)]),
        (lambda f, x: f(x), [real(1)]),
        (lambda f, x: f(x, 3), [real(3)]),
    ],
    "polyval": [
        (lambda f, p, x: f(p, x), [real(4), real(2, 3)]),
        (lambda f, p: f(p, 0.5), [real(3)]),
        (lambda f, p, x: f(p, x), [real(1), real(3)]),
        (lambda f, x: f(np.array([1.0, -2.0, 0.5], x.dtype), x), [real(3)]),
        (lambda f, p: f(p, np.array([1.0, -2.0, 0.5], p.dtype)), [real(3)]),
    ],
    "polyfit": [
        (lambda f, x, y: f(x, y, 2), [real(7), real(7)]),
        (lambda f, x, y: f(x, y, 3), [real(7), real(7, 2)]),
        (lambda f, x, y: f(x, y, 0), [real(4), real(4)]),
        (lambda f, y: f(np.linspace(0.0, 1.0, 9), y, 1, rcond=1e-6), [real(9)]),
        (lambda f, x: f(x, np.arange(4.0), 3), [np.array([-1.0, 0.5, 1.0, 2.0])]),
    ],
    "poly": [
        (lambda f, x: f(x), [real(5)]),
        (lambda f, x: f(x), [np.array([2.0, 0.5, 2.0, 2.0])]),
        (lambda f, x: f(x), [real(1)]),
        (lambda f, x: f(x * (1.0 + 0.5j)), [real(4)]),
        (lambda f, x: f(x + 1j * np.array([0.5, -0.5, 1.0, -1.0])), [np.array([0.3, 0.3, -1.2, -1.2])]),
        (lambda f, x: f(x), [square(3)]),
    ],
    "roots": [
        (lambda f, x: f(x), [np.array([1.0, -0.3, -2.1, 0.4, 0.7])]),
        (lambda f, x: f(x), [np.array([2.0, 1.0, 3.0, -4.0, 30.0, 0.01])]),
        (lambda f, x: f(x), [np.array([1.0, -6.0, 11.0, -6.0])]),
        (lambda f, x: f(x), [np.array([2.0, -3.0])]),
        (lambda f, x: f(x), [np.array([2.0, 1.0, -3.0, 0.0, 0.0])[:3]]),
    ],
    "inner": [(lambda f, x, y: f(x, y), [real(3, 4), real(2, 4)])],
    "linalg.lstsq": [
        (lambda f, x, y: f(x, y)[0], [real(5, 3), real(5)]),
        (lambda f, x, y: f(x, y, None)[0], [real(3, 5), real(3, 2)]),
        (lambda f, x, y: f(x @ np.ones((2, 3)), y)[0], [real(5, 2), real(5)]),
        (lambda f, x, y: f(x, y)[1], [real(5, 3), real(5, 2)]),
        (lambda f, x, y: f(x, y)[3], [real(4, 3), real(4)]),
    ],
    "linalg.tensorinv": [(lambda f, x: f(x, ind=1), [square(4).reshape(4, 2, 2)])],
    "linalg.tensorsolve": [
        (lambda f, x, y: f(x, y), [square(4), real(4)]),
        (lambda f, x, y: f(x, y), [square(4).reshape(4, 2, 2), real(4)]),
        (lambda f, x, y: f(x, y), [square(4).reshape(2, 2, 4), real(2, 2)]),
    ],
    "linalg.cond": [
        (lambda f, x: f(x), [real(3, 4)]),
        (lambda f, x: f(x, -2), [square(3)]),
        (lambda f, x: f(x, 2), [real(2, 3, 3)]),
        (lambda f, x: f(x, "fro"), [square(3)]),
    ],
    "fft.fft": [
        (lambda f, x: f(x), [real(2, 5)]),
        (lambda f, x: f(x, 3, axis=0), [real(4, 2)]),
        (lambda f, x: f(x, norm="ortho"), [real(4, 2)]),
        (lambda f, x: f(x, norm=None), [real(3)]),
    ],
    "fft.ifft": [(lambda f, x: f(x + 1j * x[::-1]), [real(4)])],
    "fft.rfft": [(lambda f, x: f(x), [real(2, 5)])],
    "fft.irfft": [(lambda f, x: f(x + 1j * x[::-1]), [real(4)]), (lambda f, x: f(x * 1j, n=5), [real(3)])],
    "fft.hfft": [(lambda f, x: f(x), [real(4)])],
    "fft.ihfft": [(lambda f, x: f(x), [real(4)])],
    "fft.fftn": [(lambda f, x: f(x), [real(2, 3)]), (lambda f, x: f(x, axes=(0,)), [real(2, 3)])],
    "fft.ifftn": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.rfftn": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.irfftn": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.fft2": [
        (lambda f, x: f(x), [real(2, 2, 3)]),
        (lambda f, x: f(x, axes=(0, 1)), [real(2, 2, 3)]),
        (lambda f, x: f(x, (3, 2), norm="forward"), [real(2, 2, 3)]),
    ],
    "fft.ifft2": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.rfft2": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.irfft2": [(lambda f, x: f(x), [real(2, 3)])],
    "fft.fftshift": [(lambda f, x: f(x), [real(2, 3)]), (lambda f, x: f(x, axes=1), [real(2, 3)])],
    "fft.ifftshift": [(lambda f, x: f(x), [real(2, 3)])],
}


PAIRS = [
    pytest.param(name, call, arrays, id=f"{name}-{i}")
    for name, cases in CASES.items()
    for i, (call, arrays) in enumerate(cases)
]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:.*rank:DeprecationWarning")


def function(name, owner=np):
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


@pytest.fixture
def composed():
    """Runs a function with the compiled protocols off."""

    def run(f):
        before = set_compiled_protocols(False)
        try:
            return f()
        finally:
            set_compiled_protocols(before)

    return run


def outputs(result):
    found = list(result) if isinstance(result, tuple | list) else [result]
    return [t for t in found if isinstance(t, ag.Tensor) and t.requires_grad]


def weights(t):
    return np.cos(1.0 + np.arange(t.size)).reshape(t.shape).astype(t.dtype)


def differentiated(call, f, arrays):
    """(values, gradients, gradients of a sum of these) of a call on leaves."""
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    found = outputs(call(f, *leaves))
    total = sum(((t * weights(t)).real.sum() for t in found), 0.0)
    first = ag.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    again = sum(((g * weights(g)).sum() for g in first if g is not None and g.requires_grad), 0.0)
    second = (
        ag.autograd.grad(again, leaves, allow_unused=True) if isinstance(again, ag.Tensor) else [None] * len(leaves)
    )
    plain = ag.autograd.grad(
        sum(((t * weights(t)).real.sum() for t in outputs(call(f, *leaves))), 0.0), leaves, allow_unused=True
    )
    return [[None if t is None else t.detach().numpy() for t in some] for some in (found, first, plain, second)]


def assert_alike(some, others, rtol, atol):
    for a, b in zip(some, others, strict=True):
        a, b = (np.zeros(()) if t is None else t for t in (a, b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        assert a.dtype == b.dtype or (not a.any() and not b.any())


def test_every_function_that_is_recorded_has_cases():
    names = {*primitives.ALIASES, *primitives.OWN, *[f"fft.{name}" for name in primitives.FFT_ALIASES]}
    assert {name for name in names if primitives._found(name) is not None} == set(CASES)


@pytest.mark.parametrize(("name", "call", "arrays"), PAIRS)
def test_gradients_of_both_orders_are_those_of_the_composed_function(composed, name, call, arrays):
    f = function(name)
    ours = differentiated(call, f, arrays)
    theirs = composed(lambda: differentiated(call, f, arrays))
    for some, others in zip(ours, theirs, strict=True):
        assert_alike(some, others, 1e-9, 1e-9)


@pytest.mark.parametrize(("name", "call", "arrays"), PAIRS)
def test_float32_stays_float32(composed, name, call, arrays):
    f = function(name)
    arrays = [np.asarray(a, np.float32) for a in arrays]
    if "linalg" in name or name.startswith("fft") or name in ("corrcoef", "cov"):
        tolerance = 1e-3
    else:
        tolerance = 3e-4
    ours = differentiated(call, f, arrays)[:3]
    theirs = composed(lambda: differentiated(call, f, arrays)[:3])
    for some, others in zip(ours, theirs, strict=True):
        assert_alike(some, others, tolerance, tolerance)
    for g in (*ours[1], *ours[2]):
        assert g is None or g.dtype == np.float32


@pytest.mark.parametrize(("name", "call", "arrays"), [p for p in PAIRS if p.values[0] in primitives.OWN])
def test_values_are_numpys_bit_by_bit(name, call, arrays):
    f = function(name)
    arrays = [np.asarray(a) for a in arrays]
    ours, theirs = call(f, *[ag.tensor(a, requires_grad=True) for a in arrays]), call(f, *arrays)
    several = isinstance(theirs, tuple | list)
    for a, b in zip(ours if several else [ours], theirs if several else [theirs], strict=True):
        a, b = np.asarray(a.detach() if isinstance(a, ag.Tensor) else a), np.asarray(b)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(("name", "call", "arrays"), PAIRS)
def test_transposed_arrays_have_the_gradients_of_the_composed_function(composed, name, call, arrays):
    f = function(name)
    arrays = [
        np.ascontiguousarray(a.swapaxes(0, -1)).swapaxes(0, -1) if a.ndim > 1 else np.repeat(a, 2)[::2].reshape(a.shape)
        for a in arrays
    ]
    ours = differentiated(call, f, arrays)[:3]
    theirs = composed(lambda: differentiated(call, f, arrays)[:3])
    for some, others in zip(ours, theirs, strict=True):
        assert_alike(some, others, 1e-9, 1e-9)


@pytest.mark.parametrize("name", sorted(primitives.OWN))
def test_one_node_is_recorded(name):
    if name not in CASES or name in ("linalg.lstsq", "interp", "angle"):
        pytest.skip("the case computes more than the function")
    call, arrays = CASES[name][0]
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    (node,) = {t.grad_fn for t in outputs(call(function(name), *leaves))}
    # The full convolution, the first case, is an operation of the table.
    assert node.op_name == ("_convolve" if name == "convolve" else f"numpy.{name}")
    assert all(getattr(child, "op_name", None) is None for child, _ in node.next_functions)


@pytest.mark.parametrize(("name", "call", "arrays"), PAIRS)
def test_the_namespace_gives_the_same(name, call, arrays):
    if name.startswith(("fft.", "linalg.")) or name in ("cumsum", "cumprod", "sort", "diff", "roll", "clip", "trace"):
        pytest.skip("the standard's function, or none of this name")
    if not callable(getattr(an, name, None)) or not hasattr(getattr(an, name), "__wrapped__"):
        pytest.skip("the standard's function")
    ours = differentiated(call, getattr(an, name), arrays)[:3]
    theirs = differentiated(call, function(name), arrays)[:3]
    for some, others in zip(ours, theirs, strict=True):
        assert_alike(some, others, 1e-12, 1e-12)


def test_observed_calls_are_what_runs_without_hooks():
    x = ag.tensor(real(4), requires_grad=True)
    seen, results = [], []
    with op_hooks(lambda name, args: seen.append((name, args[0] is x)), lambda *call: results.append(call[2])):
        observed = [np.nansum(x), np.median(x), np.modf(x)[0], np.cumsum(x)]
    assert seen == [("numpy.nansum", True), ("numpy.median", True), ("numpy.modf", True), ("cumulative_sum", True)]
    assert results[0] is observed[0]
    plain = [np.nansum(x), np.median(x), np.modf(x)[0], np.cumsum(x)]
    assert [y.grad_fn.name() for y in observed] == [y.grad_fn.name() for y in plain]


def test_observed_calls_that_are_not_served_show_the_operations_of_the_table():
    x = ag.tensor(real(4), requires_grad=True)
    seen = []
    with op_hooks(lambda name, args: seen.append(name)):
        np.nansum(x, where=np.array([True, False, True, True]))
    assert "where" in seen


def test_a_profile_has_one_row_for_a_recorded_function():
    x = ag.tensor(real(4), requires_grad=True)
    with ag.autograd.graph.profile() as profile:
        np.median(x).backward()
    rows = {row.name: (row.calls, row.backward_calls) for row in profile.rows}
    assert rows == {"numpy.median": (1, 1), "AccumulateGrad": (0, 1)}


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.nansum(x, where=np.array([True, False, True])),
        lambda x: np.nansum(x.astype(np.float16)),
        lambda x: np.heaviside(x, x.astype(np.float32)),
        lambda x: np.percentile(x, 30, method="nearest"),
        lambda x: np.diag(x.reshape((1, 3))),
        lambda x: np.select([MASK], [x], x[0]),
        lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0], left=x[0]),
        lambda x: np.nan_to_num(x, nan=x[1]),
        lambda x: np.convolve(x, x * 1j),
    ],
)
def test_what_is_not_served_is_composed(composed, call):
    def run():
        x = ag.tensor([0.25, -1.5, 2.0], requires_grad=True)
        result = call(x)
        (g,) = ag.autograd.grad(result.real.sum(), [x])
        return result.grad_fn.op_name, result.detach().numpy(), g.numpy()

    (ours, value, gradient), (theirs, expected, slope) = run(), composed(run)
    assert ours == theirs
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(gradient, slope)


def test_a_parameter_of_one_node_that_requires_grad_is_composed():
    x, q = ag.tensor(real(4), requires_grad=True), ag.tensor(0.3, requires_grad=True)
    np.quantile(x, q).backward()
    low, high = np.sort(x.numpy())[:2]
    np.testing.assert_allclose(q.grad, 3.0 * (high - low))


@pytest.mark.parametrize(("n", "m"), [(n, m) for n in range(1, 7) for m in range(1, 7)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlate_is_numpys_whatever_is_longer_and_even(composed, n, m, mode):
    a, v = real(n), real(m)
    expected = np.correlate(a, v, mode)
    for run in (composed, lambda f: f()):
        found = run(lambda: np.correlate(ag.tensor(a, requires_grad=True), v, mode))
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_an_index_array_may_be_changed_afterwards():
    x, places = ag.tensor(np.arange(4.0), requires_grad=True), np.array([0, 1])
    result = np.delete(x, places)
    places[:] = 3
    (g,) = ag.autograd.grad(result.sum(), [x])
    np.testing.assert_array_equal(g.numpy(), [0.0, 0.0, 1.0, 1.0])


def test_a_saved_argument_that_is_written_is_kept_as_it_was():
    x = ag.tensor(real(4), requires_grad=True)
    y = x * 1.0
    result = np.fmax(y, 0.0)
    expected = (y.detach().numpy() > 0) * 1.0
    y[...] = -5.0
    (g,) = ag.autograd.grad(result.sum(), [x])
    np.testing.assert_array_equal(g.numpy(), expected)


def test_nothing_is_recorded_without_gradients():
    x = ag.tensor(real(4))
    assert not np.fmax(x, 0.0).requires_grad
    y = ag.tensor(real(4), requires_grad=True)
    with ag.no_grad():
        assert not np.nanmean(y).requires_grad


TWO = [p for p in PAIRS if len(p.values[2]) > 1 and not p.values[0].startswith("linalg")]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint64", "bool", "float16"])
@pytest.mark.parametrize(("name", "call", "arrays"), TWO)
def test_constants_of_other_dtypes_give_the_derivatives_of_the_same_numbers(name, call, arrays, dtype):
    f = function(name)
    if name in ("insert", "polyfit") and dtype == "float16":
        pytest.skip("the result has the constant's dtype")
    for place in range(len(arrays)):
        numbers = [np.nan_to_num(np.round(40 * np.abs(a))).clip(1, 120) for a in arrays]
        found = []
        for constants in ([a.astype(dtype) for a in numbers], [a.astype(dtype).astype(float) for a in numbers]):
            try:
                found.append(
                    differentiated(
                        lambda g, x, c=constants, i=place: call(g, *c[:i], x, *c[i + 1 :]), f, [arrays[place]]
                    )
                )
            except (TypeError, ValueError) as error:  # NumPy's own, or there is nothing to differentiate
                found.append(str(type(error)))
        if isinstance(found[0], str) or isinstance(found[1], str):
            continue
        for some, others in zip(*found, strict=True):
            assert_alike(some, others, 1e-9, 1e-9)


def rows():
    """Parameters, operation, places and options of each function that is an operation of the table."""
    for name, (signature, target, places, *options) in {**primitives.ALIASES, **primitives.FFT_ALIASES}.items():
        yield name, signature, target, places, options[0] if options else {}


def made(name, signature, target, places, options):
    return primitives._alias(abs, name, signature, target, places, None, options)


BARE = [
    (name, i) for name, _, _, places, _ in rows() for i, place in enumerate(places)
    if type(place) is tuple and len(place) == 2 and name != "clip"  # whose bounds are operands
]  # fmt: skip


@pytest.mark.parametrize(("name", "i"), BARE)
def test_a_number_is_not_handed_over_as_an_operand(name, i):
    """An array that stands there would be promoted: shifts, axes and indices to floats."""
    row = next(row for row in rows() if row[0] == name)
    made(*row)
    *before, places, options = row
    wrong = (*places[:i], places[i][0], *places[i + 1 :])
    with pytest.raises(TypeError, match="is no operand"):
        made(*before, wrong, options)
    with pytest.raises(TypeError, match="parameters of"):
        made(*before, places[:-1], options)
