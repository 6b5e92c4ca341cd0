"""Samples of the internal operations: indexing, assignment, adjoints, device moves."""

import array_api_compat
import numpy as np

import arraygrad as ag
from samples._case import adjoint, case, cplx, kink, matrices, positive, real

INF, NAN = np.inf, np.nan

# label -> (shape of the array, key as NumPy takes it)
KEYS = {
    "int": ((3, 2), 1),
    "negative int": ((3, 2), -1),
    "slice": ((4, 2), slice(1, 3)),
    "step": ((5,), slice(None, None, 2)),
    "backwards": ((5,), slice(None, None, -1)),
    "ellipsis": ((2, 3, 2), (Ellipsis, 0)),
    "everything": ((2, 3), Ellipsis),
    "mixed": ((2, 3, 2), (slice(None), 1, slice(0, 1))),
    "element": ((2, 3), (1, 2)),
    "empty slice": ((3,), slice(2, 1)),
    "0-d": ((), ()),
    "boolean mask": ((2, 3), np.array([[True, False, True], [False, True, True]])),
    "boolean mask of the first axis": ((3, 2), np.array([True, False, True])),
    "integers": ((4,), np.array([2, 0, 3])),
    "repeated integers": ((4,), np.array([2, 0, 2, -2])),
    "integers of two axes": ((4,), np.array([[2, 0], [2, 1]])),
    "pairs of integers": ((3, 4), (np.array([0, 2, 0]), np.array([1, 1, 1]))),
    "broadcast integers": ((3, 4), (np.array([[0], [2]]), np.array([1, 1, 3]))),
    "integers and int": ((3, 4), (np.array([0, 2, 0]), 1)),
    "integers and slice": ((3, 4), (np.array([0, 2, 0]), slice(1, 3))),
    "slice and integers": ((3, 4), (slice(0, 2), np.array([3, 3, 1]))),
}
# only for reading: an assignment takes no new axes
READ_ONLY = {
    "new axis": ((3,), (None, slice(1, 3), None)),
    "new axis in front": ((3, 2), (None, ...)),
    "new axis and integers": ((3,), (np.array([0, 2, 0]), None)),
}


def standard(shape, key):
    """Whether the standard has such a key: one for each axis, or an ellipsis; integer arrays go with ints alone."""
    parts = key if isinstance(key, tuple) else (key,)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if any(array.dtype == bool for array in arrays):
        return len(parts) == 1
    if arrays and any(not isinstance(part, int | np.ndarray) for part in parts):
        return False
    return any(part is Ellipsis for part in parts) or len(parts) == len(shape)


def native(xp, key):
    """`key` with its arrays made by `xp`."""
    if isinstance(key, tuple):
        return tuple(native(xp, part) for part in key)
    return xp.asarray(key.tolist()) if isinstance(key, np.ndarray) else key


def _projections_above(xp, x):
    values, vectors = xp._eigh_upper(x)
    return values, xp.matmul(vectors * (values**3)[..., None, :], adjoint(xp, vectors)), xp.abs(vectors)


def _get(key):
    return lambda xp, x: x[native(xp, key)]


def _put(key, shape):
    return lambda xp, g: xp._getitem_adjoint(g, shape, native(xp, key))


def _add(key):
    return lambda xp, x, value: xp._add_at(x, native(xp, key), value)


def _set(key):
    return lambda xp, x, value: xp._setitem(x, native(xp, key), value)


class _Squared:
    """A problem for `_implicit` whose solution is x * x, as if some solver had found it."""

    def __init__(self, x):
        raw = x.array if isinstance(x, ag.Tensor) else x
        self.solution = raw * raw

    def pull(self, g, ans, arrays):
        (x,) = arrays
        if isinstance(x, ag.Tensor):  # recorded
            xp = x.__array_namespace__()
        else:
            xp = array_api_compat.array_namespace(x)
        return [2.0 * g * (xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x)]


def _within_library(xp, x):
    """A transfer to the library that x is of already."""
    name = x.__array_namespace__().__name__.removeprefix("arraygrad.")
    return xp._to_backend(x, name, None, name, None)


def _products(name, *shapes):
    def call(xp, x, y):
        return getattr(xp, name)(x, y)

    return [
        *[case(f"{one} and {two}", call, real(*one), real(*two, seed=1)) for one, two in shapes],
        *[case(f"complex {one} and {two}", call, cplx(*one), cplx(*two, seed=1), order=1) for one, two in shapes[:2]],
        case("real and complex", call, real(*shapes[0][0]), cplx(*shapes[0][1], seed=1)),
        case("complex and real", call, cplx(*shapes[0][0]), real(*shapes[0][1], seed=1)),
    ]


def _segments(name, ufunc, starts, axis=0):
    def call(xp, x):
        raw = array_api_compat.array_namespace(getattr(x, "array", x))
        return getattr(xp, name)(x, ufunc, raw.asarray(starts), axis)

    return call


def _strided(shape, strides, own):
    return lambda xp, x: xp._strided(x, shape, strides, own)


SAMPLES = {
    "_strided": [
        case("windows", _strided((3, 3), (8, 8), (8,)), real(5)),
        case("blocks", _strided((2, 2, 2), (32, 16, 8), (32, 8)), real(2, 4)),
        case("complex", _strided((2, 2), (16, 16), (16,)), cplx(4)),
    ],
    "_segment_sums": [
        case("sums", _segments("_segment_sums", "add", [0, 2, 3]), real(5)),
        case("behind the first element", _segments("_segment_sums", "add", [1, 3], 1), real(2, 4)),
        case("differences", _segments("_segment_sums", "subtract", [0, 3, 4]), real(6, 2)),
        case("differences behind the first element", _segments("_segment_sums", "subtract", [2, 4], 1), real(2, 5)),
        case("complex", _segments("_segment_sums", "subtract", [0, 2], 1), cplx(2, 4)),
    ],
    "_segment_folds": [
        *(
            case(f"{ufunc}, {label}", _segments("_segment_folds", ufunc, starts, axis), real(3, 5, low=0.5))
            for ufunc in ("maximum", "minimum", "multiply", "logaddexp")
            for label, starts, axis in (("rows", [0, 2], 0), ("columns", [1, 2], 1))
        ),
        kink("ties", _segments("_segment_folds", "maximum", [0, 3]), [[2.0, 2.0, 1.0, 5.0]], [[0.5, 0.5, 0.0, 1.0]]),
        kink("nan", _segments("_segment_folds", "minimum", [0, 2]), [[NAN, 2.0, 1.0, 5.0]], [[1.0, 0.0, 1.0, 0.0]]),
    ],
    "_running_differences": [
        case("rows", lambda xp, x: xp._running_differences(x, 0), real(3, 2)),
        case("columns", lambda xp, x: xp._running_differences(x, 1), real(3, 4)),
        case("complex", lambda xp, x: xp._running_differences(x, 0), cplx(3)),
    ],
    "_running_folds": [
        *(
            case(
                f"{ufunc}, {axis}", lambda xp, x, ufunc=ufunc, axis=axis: xp._running_folds(x, ufunc, axis), real(3, 4)
            )
            for ufunc in ("maximum", "minimum", "logaddexp")
            for axis in (0, 1)
        ),
        case("one element", lambda xp, x: xp._running_folds(x, "maximum", 0), real(1)),
        kink(
            "ties",
            lambda xp, x: xp._running_folds(x, "maximum", 0),
            [[2.0, 2.0, 1.0, 5.0]],
            [[2.0, 1.0, 0.0, 1.0]],
        ),
    ],
    "_implicit": [
        case("real", lambda xp, x: xp._implicit([x], _Squared(x)), real(3)),
        case("complex", lambda xp, x: xp._implicit([x], _Squared(x)), cplx(3)),
    ],
    "_getitem": [
        *(
            case(label, _get(key), real(*shape), standard=standard(shape, key))
            for label, (shape, key) in {**KEYS, **READ_ONLY}.items()
        ),
        case("complex", _get(np.array([0, 0, 1])), cplx(3)),
        kink("repeats add", _get(np.array([1, 1, 0])), [[5.0, 6.0, 7.0]], [[1.0, 2.0, 0.0]]),
    ],
    "_getitem_adjoint": [
        case(label, _put(key, shape), real(*np.zeros(shape)[key].shape), standard=standard(shape, key))
        for label, (shape, key) in KEYS.items()
    ]
    + [case("complex", _put(np.array([0, 0, 1]), (3,)), cplx(3))],
    "_add_at": [
        *(
            case(
                label,
                _add(key),
                real(*shape),
                real(*np.zeros(shape)[key].shape, seed=1),
                standard=standard(shape, key),
            )
            for label, (shape, key) in KEYS.items()
        ),
        case("broadcast value", _add(np.array([1, 1, 0])), real(3, 2), real(2, seed=1), standard=False),
        case("complex", _add(np.array([1, 1])), cplx(3), cplx(2, seed=1)),
        case("real to complex", _add(np.array([1, 1])), cplx(3), real(2, seed=1)),
    ],
    "_setitem": [
        *(
            case(
                label,
                _set(key),
                real(*shape),
                real(*np.zeros(shape)[key].shape, seed=1),
                standard=standard(shape, key),
            )
            for label, (shape, key) in KEYS.items()
        ),
        case("broadcast value", _set((slice(0, 2), slice(None))), real(3, 2), real(2, seed=1)),
        case("0-d value", _set((slice(0, 2), slice(None))), real(3, 2), real(seed=1)),
        case("scalar value", lambda xp, x: xp._setitem(x, (slice(0, 2), ...), 1.5), real(3, 2)),
        case("complex", _set(slice(0, 2)), cplx(3), cplx(2, seed=1)),
        case("real into complex", _set(slice(0, 2)), cplx(3), real(2, seed=1)),
        kink("the last counts", _set(np.array([1, 1])), [[0.0, 0.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]),
    ],
    "_take_adjoint": [
        case("one axis", lambda xp, g: xp._take_adjoint(g, xp.asarray([2, 0, 2]), (3,), None), real(3)),
        case("axis 0", lambda xp, g: xp._take_adjoint(g, xp.asarray([1, 1]), (3, 2), 0), real(2, 2)),
        case("axis -1", lambda xp, g: xp._take_adjoint(g, xp.asarray([0, 2, 2]), (2, 3), -1), real(2, 3)),
        case("complex", lambda xp, g: xp._take_adjoint(g, xp.asarray([0, 0]), (2,), 0), cplx(2)),
    ],
    "_take_along_axis_adjoint": [
        case(
            "last axis",
            lambda xp, g: xp._take_along_axis_adjoint(g, xp.asarray([[2, 0], [1, 1]]), (2, 3), -1),
            real(2, 2),
        ),
        case(
            "axis 0",
            lambda xp, g: xp._take_along_axis_adjoint(g, xp.asarray([[1, 0, 1]]), (2, 3), 0),
            real(1, 3),
        ),
    ],
    "_copy": [case("real", lambda xp, x: xp._copy(x), real(2, 3))],
    "_windows": [
        case("one axis", lambda xp, x: xp._windows(x, (3,), (0,)), real(5)),
        case("two axes", lambda xp, x: xp._windows(x, (2, 2), (0, 1)), real(3, 4)),
        case("the last of two axes", lambda xp, x: xp._windows(x, (3,), (-1,)), real(2, 4)),
        case("an axis twice", lambda xp, x: xp._windows(x, (2, 3), (0, 0)), real(5)),
        case("complex", lambda xp, x: xp._windows(x, (2,), (1,)), cplx(2, 3)),
    ],
    "_identity": [
        case("real", lambda xp, x: xp._identity(x), real(2, 3)),
        case("complex", lambda xp, x: xp._identity(x), cplx(3)),
    ],
    "_to_device": [case("same device", lambda xp, x: xp._to_device(x, x.device), real(3))],
    "_cbrt": [
        case("both signs", lambda xp, x: xp._cbrt(x), real(2, 3) + 0.7),
        case("negative", lambda xp, x: xp._cbrt(x), -1.5 - real(3) ** 2),
    ],
    "_float_power": [
        case("real", lambda xp, x, y: xp._float_power(x, y), real(3, low=0.4), real(3, seed=5), single=False),
        case("complex", lambda xp, x, y: xp._float_power(x, y), cplx(2, 2), cplx(2, seed=3), single=False),
        kink("at zero", lambda xp, x, y: xp._float_power(x, y), [[0.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]),
    ],
    "_exp2": [
        case("real", lambda xp, x: xp._exp2(x), real(2, 3)),
        case("complex", lambda xp, x: xp._exp2(x), cplx(3)),
        kink("ends", lambda xp, x: xp._exp2(x), [[-INF, 0.0, INF]], [[0.0, np.log(2.0), INF]]),
    ],
    "_fabs": [
        case("both signs", lambda xp, x: xp._fabs(x), real(2, 3) - 0.7),
        kink("at zero", lambda xp, x: xp._fabs(x), [[-1.0, 0.0, INF]], [[-1.0, 0.0, 1.0]]),
    ],
    "_deg2rad": [case("real", lambda xp, x: xp._deg2rad(x), real(2, 3))],
    "_rad2deg": [case("real", lambda xp, x: xp._rad2deg(x), real(2, 3))],
    "_logaddexp2": [
        case("real", lambda xp, x, y: xp._logaddexp2(x, y), real(2, 3), real(3, seed=5)),
        case("scalar", lambda xp, x: xp._logaddexp2(x, 0.5), real(3)),
        kink(
            "infinities",
            lambda xp, x, y: xp._logaddexp2(x, y),
            [[-INF, -INF, INF, INF, 1.0], [-INF, 1.0, 1.0, INF, INF]],
            [[0.5, 0.0, 1.0, 0.5, 0.0], [0.5, 1.0, 0.0, 0.5, 1.0]],
        ),
        kink("no overflow", lambda xp, x, y: xp._logaddexp2(x, y), [[2e3, -2e3], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]),
    ],
    **{
        name: [
            case("real", lambda xp, x, y, f=name: getattr(xp, f)(x, y), real(2, 3), real(3, seed=5)),
            case("scalar", lambda xp, x, f=name: getattr(xp, f)(x, 0.5), real(4)),
            kink(
                "ties and nan",
                lambda xp, x, y, f=name: getattr(xp, f)(x, y),
                [[1.0, NAN, 2.0, NAN], [1.0, 3.0, NAN, NAN]],
                [[0.5, 0.0, 1.0, 1.0], [0.5, 1.0, 0.0, 1.0]],
            ),
        ]
        for name in ("_fmax", "_fmin")
    },
    "_fmod": [
        case("signs", lambda xp, x, y: xp._fmod(x, y), [5.3, -5.3, 5.3, -5.3], [2.0, 2.0, -2.0, -2.0]),
        case("broadcast", lambda xp, x, y: xp._fmod(x, y), [[5.3], [-1.1]], [2.0, 0.7, 3.1]),
        case("scalar", lambda xp, x: xp._fmod(x, 2.0), [5.3, -1.1]),
        kink("at a jump", lambda xp, x, y: xp._fmod(x, y), [[4.0, 1.5], [2.0, INF]], [[1.0, 1.0], [-2.0, 0.0]]),
    ],
    "_convolve": [
        case("longer first", lambda xp, x, y: xp._convolve(x, y), real(5), real(3, seed=1)),
        case("longer second", lambda xp, x, y: xp._convolve(x, y), real(2), real(4, seed=1)),
        case("one element", lambda xp, x, y: xp._convolve(x, y), real(1), real(3, seed=1)),
        case("complex", lambda xp, x, y: xp._convolve(x, y), cplx(4), cplx(2, seed=1)),
    ],
    "_correlate": [
        case("longer", lambda xp, x, y: xp._correlate(x, y), real(5), real(3, seed=1)),
        case("one length", lambda xp, x, y: xp._correlate(x, y), real(3), real(3, seed=1)),
        case("one element", lambda xp, x, y: xp._correlate(x, y), real(3), real(1, seed=1)),
        case("complex", lambda xp, x, y: xp._correlate(x, y), cplx(4), cplx(2, seed=1)),
    ],
    "_inner": _products("_inner", ((2, 3), (2, 3)), ((3,), (3,)), ((3,), (2, 3)), ((2, 3), (3,)), ((2, 2, 3), (2, 3))),
    "_matvec": _products("_matvec", ((2, 3), (3,)), ((2, 2, 3), (2, 3)), ((2, 3), (2, 3)), ((2, 2, 3), (3,))),
    "_vecmat": _products("_vecmat", ((3,), (3, 2)), ((2, 3), (2, 3, 2)), ((3,), (2, 3, 2)), ((2, 3), (3, 2))),
    "_eigh_upper": [
        case("stored above", _projections_above, positive(np, real(3, 3))),
        case("complex", _projections_above, positive(np, cplx(2, 2))),
        case("stack", _projections_above, positive(np, real(2, 2, 2))),
    ],
    "_eigvalsh_upper": [
        case("stored above", lambda xp, x: xp._eigvalsh_upper(x), np.triu(positive(np, real(3, 3)))),
        case("complex", lambda xp, x: xp._eigvalsh_upper(x), positive(np, cplx(2, 2))),
    ],
    "_imag_of_real": [kink("zeros", lambda xp, x: xp._imag_of_real(x), [[-2.0, 3.0]], [[0.0, 0.0]])],
    "_angle_of_real": [kink("no slope", lambda xp, x: xp._angle_of_real(x), [[-2.0, 0.0, 3.0]], [[0.0, 0.0, 0.0]])],
    "_to_backend": [case("same library", _within_library, real(3)), case("complex", _within_library, cplx(2))],
    "_cofactor": [
        case("regular", lambda xp, x: xp._cofactor(x), matrices(3, 3)),
        case("singular", lambda xp, x: xp._cofactor(x), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], order=1),
        case("complex", lambda xp, x: xp._cofactor(x), matrices(3, 3, complex=True)),
        case("1 x 1", lambda xp, x: xp._cofactor(x), matrices(1, 1)),
    ],
    "_cofactors_along": [
        case("regular", lambda xp, x1, x2: xp._cofactors_along(x1, x2), matrices(3, 3), matrices(3, 3)[::-1]),
        case("stack", lambda xp, x1, x2: xp._cofactors_along(x1, x2), matrices(2, 2, 2), matrices(2, 2, 2)[::-1]),
        case("singular", lambda xp, x1, x2: xp._cofactors_along(x1, x2), np.zeros((3, 3)), matrices(3, 3)),
        case(
            "complex",
            lambda xp, x1, x2: xp._cofactors_along(x1, x2),
            matrices(3, 3, complex=True),
            matrices(3, 3, complex=True)[::-1],
        ),
        case("1 x 1", lambda xp, x1, x2: xp._cofactors_along(x1, x2), matrices(1, 1), matrices(1, 1)),
    ],
    "_zero_unknown": [
        kink("real", lambda xp, x: xp._zero_unknown(x), [[1.0, -2.0]], [[NAN, NAN]]),
        kink("complex", lambda xp, x: xp._zero_unknown(x), [[1.0 + 1.0j]], [[NAN + 0.0j]]),
    ],
}
