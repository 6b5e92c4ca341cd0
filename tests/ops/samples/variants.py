"""Further ways to call functions of every chapter: negative and several axes, empty arrays, odd lengths, broadcasting.

The chapters' own samples are the usual calls, their kinks and ties; here every option meets every shape it allows.
"""

import math

import numpy as np

from samples import creation, elementwise, internal, manipulation, special
from samples import set as set_functions
from samples._case import case, cplx, matrices, real

SAMPLES: dict[str, list] = {}


def _add(name, label, call, *arrays, **options):
    SAMPLES.setdefault(name, []).append(case(f"variant: {label}", call, *arrays, **options))


def _function(name, owner=None, **options):
    def call(xp, *arrays):
        return getattr(getattr(xp, owner) if owner else xp, name)(*arrays, **options)

    return call


def _integers(xp, values):
    """An integer array of nested lists, of any library."""
    values = np.array(values, dtype=np.int64)
    return xp.reshape(xp.asarray(values.ravel().tolist(), dtype=xp.int64), values.shape)


def _empty(*shape):
    return np.zeros(shape)


def _shapes(*arrays):
    return " and ".join(f"{'complex ' if a.dtype.kind == 'c' else ''}{a.shape}" for a in arrays)


# -- every elementwise function of no elements and of 0-d arrays, what only moves elements with complex ones ----------

for _name, _cases in (*elementwise.SAMPLES.items(), *special.SAMPLES.items()):
    _usual = next((c for c in _cases if c.expected is None), None)
    if _usual is not None and not _name.startswith("multi"):
        _options = {"order": _usual.order, "standard": _usual.standard}
        _add(_name, "no elements", _usual.call, *[a.ravel()[:0] for a in _usual.arrays], **_options)
        _add(_name, "0-d", _usual.call, *[a.ravel()[0] for a in _usual.arrays], **_options)
for _chapter, _names in (
    (
        manipulation,
        "expand_dims squeeze permute_dims moveaxis flip roll broadcast_to broadcast_arrays repeat tile stack",
    ),
    (set_functions, "unique_values unique_counts unique_inverse unique_all"),
    (creation, "asarray full full_like linspace"),
    (internal, "_copy _to_device _take_along_axis_adjoint"),
):
    for _name in _names.split():
        _usual = _chapter.SAMPLES[_name][0]
        _add(_name, "complex", _usual.call, *[a * (1 + 0.5j) for a in _usual.arrays], standard=_usual.standard)

# -- reductions and scans ---------------------------------------------------------------------------------------------

_REDUCED = ((-1, real(2, 3)), ((-1, 0), real(2, 3)), ((0, -2), real(2, 3, 2)), ((), real(2, 3)), (None, real()))
for _name in ("sum", "prod", "mean", "var", "std", "max", "min"):
    _nothing = ((1, _empty(0, 3)),) if _name not in ("sum", "prod") else ((1, _empty(3, 0)), ((0, 1), _empty(2, 0)))
    for _axis, _x in (*_REDUCED, *_nothing):
        if _name == "std" and math.prod(_x.shape) == math.prod(np.std(_x, axis=_axis).shape):
            continue  # of one element: a kink
        for _keepdims in (False, True):
            _add(
                _name,
                f"axis={_axis}, {_x.shape}, keepdims={_keepdims}",
                _function(_name, axis=_axis, keepdims=_keepdims),
                _x,
            )
for _name in ("var", "std"):
    for _correction in (0, 1, 0.5, 1.5, -1):
        _options = {"correction": _correction}
        _add(_name, f"{_options}, axes", _function(_name, axis=(0, -1), keepdims=True, **_options), real(2, 2, 3))
        _add(_name, f"{_options}, complex", _function(_name, axis=-1, **_options), cplx(2, 3), standard=False)
_add("prod", "several zeros", _function("prod", axis=0), [[0.0, 1.0], [0.0, 0.0], [3.0, 0.0], [2.0, 5.0]])
_add("prod", "several zeros, all axes", _function("prod"), [[0.0, 1.0], [2.0, 0.0], [3.0, 4.0]])
_add("prod", "complex zeros", _function("prod"), [0j, 1 + 1j, 2j, 0j])
for _name in ("cumulative_sum", "cumulative_prod"):
    for _initial in (False, True):
        for _axis, _x in (
            (-1, real(2, 3)),
            (-2, real(2, 3)),
            (0, _empty(0, 3)),
            (1, _empty(2, 0)),
            (None, real(4)),
            (1, cplx(2, 3)),
            (0, np.array([0.0, 2, 0, 3])),
            (0, np.array([2.0, 0, 0, 3, 0, 4])),
        ):
            _label = f"axis={_axis}, {_shapes(_x)}, include_initial={_initial}"
            _add(_name, _label, _function(_name, axis=_axis, include_initial=_initial), _x)
for _name in ("softmax", "log_softmax", "logsumexp"):
    for _axis, _x in ((None, real(2, 3)), (0, real(2, 3)), ((0, -1), real(2, 3, 2)), (-1, _empty(0, 3))):
        _add(_name, f"axis={_axis}, {_x.shape}", _function(_name, axis=_axis), _x)

# -- Fourier transforms -----------------------------------------------------------------------------------------------

_NORMS = ("backward", "ortho", "forward")
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _make = real if _name in ("rfft", "ihfft") else cplx
    for _i, _n in enumerate((None, 1, 2, 3, 4, 5, 7)):
        for _j, _axis in enumerate((0, -1, -2)):
            _options = {"n": _n, "axis": _axis, "norm": _NORMS[(_i + _j) % 3]}
            _add(_name, f"{_options}", _function(_name, "fft", **_options), _make(4, 3))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _make = real if _name == "rfftn" else cplx
    for _i, (_s, _axes) in enumerate(
        (
            (None, None),
            ((3, 4), None),
            ((2, 5), (0, 1)),
            ((2, 5), (1, 0)),
            ((2,), (-2,)),
            ((3, 1), (-1, -3)),
            (None, (1,)),
            (None, (2, 0)),
            ((1, 2, 3), None),
            ((4, 4, 4), (2, 0, 1)),
            (None, (-1, -2)),
        )
    ):
        _options = {"s": _s, "axes": _axes, "norm": _NORMS[_i % 3]}
        _standard = _s is None or _axes is not None
        _add(_name, f"{_options}", _function(_name, "fft", **_options), _make(2, 3, 4), standard=_standard)
for _name in ("fftshift", "ifftshift"):
    for _axes in (None, 0, (0, 1), (-1,), (-1, 0)):
        _add(_name, f"axes={_axes}", _function(_name, "fft", axes=_axes), real(3, 4))

# -- indexing, repetition, order --------------------------------------------------------------------------------------


def _along(indices, axis):
    return lambda xp, x: xp.take_along_axis(x, _integers(xp, indices), axis=axis)


for _axis, _indices, _x in (
    (0, [[-1, 0], [-1, 0]], real(3, 2)),
    (-1, [[-1], [0]], real(2, 3)),
    (1, [[0, 0, 2], [1, 1, 1]], real(2, 3)),
    (-2, [[-1, -2]], real(2, 2)),
    (1, np.zeros((2, 0)), real(2, 3)),
):
    _add("take_along_axis", f"axis={_axis}, {np.shape(_indices)}", _along(_indices, _axis), _x)
_add("take_along_axis", "x broadcasts", _along([[0, 1, -1], [1, 1, 0]], 1), real(1, 3), standard=False)
_add("take_along_axis", "indices broadcast", _along([[0], [1]], 0), real(2, 3), standard=False)
for _axis in (0, -1, 1, -2):
    for _indices in ([-1, 0, -1, 1], []):
        _add(
            "take",
            f"axis={_axis}, {_indices}",
            lambda xp, x, i=_indices, a=_axis: xp.take(x, _integers(xp, i), axis=a),
            real(2, 3),
        )
for _axis, _repeats, _x in (
    (-1, [1, 0, 2], real(2, 3)),
    (0, [2, 0], real(2, 3)),
    (1, [0, 0, 0], real(2, 3)),
    (0, 0, real(2, 3)),
    (None, 3, real(2, 2)),
    (None, [1, 2, 0, 1], real(2, 2)),
    (-2, 2, _empty(0, 3)),
):
    _add(
        "repeat",
        f"{_repeats}, axis={_axis}",
        lambda xp, x, r=_repeats, a=_axis: xp.repeat(x, _integers(xp, r) if isinstance(r, list) else r, axis=a),
        _x,
    )
for _repetitions, _x in (
    ((2,), real()),
    ((), real(2, 3)),
    ((0, 2), real(2, 3)),
    ((2, 1, 3), real(2, 3)),
    ((2,), real(2, 3)),
    ((2, 2), _empty(0, 3)),
):
    _add("tile", f"{_repetitions}, {_x.shape}", lambda xp, x, r=_repetitions: xp.tile(x, r), _x)
for _shift, _axis, _x in (
    (1, None, real(2, 3)),
    ((1, -2), (0, 1), real(2, 3)),
    (7, -1, real(2, 3)),
    (1, 0, _empty(0, 2)),
    (1, None, real()),
    ((1,), (1,), real(2, 3)),
):
    _add("roll", f"{_shift}, axis={_axis}, {_x.shape}", lambda xp, x, s=_shift, a=_axis: xp.roll(x, s, axis=a), _x)
for _axis in (None, 0, -1, (0, 1), (-1, -2), ()):
    _add("flip", f"axis={_axis}", _function("flip", axis=_axis), real(2, 3))
for _source, _target in ((0, -1), (-1, 0), ((0, 1), (-1, 0)), ((0, 2), (1, 0)), ((), ()), ((-1, -3), (0, 1))):
    _add("moveaxis", f"{_source} to {_target}", lambda xp, x, s=_source, t=_target: xp.moveaxis(x, s, t), real(2, 3, 2))
for _axis in ((0, -1), (-1, 0), -1, (1, 2), (2, 0), ()):
    _add("expand_dims", f"axis={_axis}", _function("expand_dims", axis=_axis), real(2, 3))
for _axis in (0, -1, (0, -1), (0, 2), ()):
    _add("squeeze", f"axis={_axis}", _function("squeeze", axis=_axis), real(1, 3, 1))
for _axis in (0, -1, None, 1, -2):
    _add(
        "concat",
        f"axis={_axis}, three, one complex",
        lambda xp, *arrays, a=_axis: xp.concat(list(arrays), axis=a),
        real(2, 2),
        real(2, 2, seed=1),
        cplx(2, 2),
    )
    if _axis is not None:
        _call = lambda xp, *arrays, a=_axis: xp.stack(list(arrays), axis=a)
        _add("stack", f"axis={_axis}, one complex", _call, real(2, 2), cplx(2, 2, seed=1))
        _add("unstack", f"axis={_axis}", _function("unstack", axis=_axis), real(2, 3))
_add("concat", "with an empty one", lambda xp, x, y: xp.concat([x, y], axis=0), _empty(0, 3), real(2, 3))
for _n in (0, 1, 2, 3, 5):
    for _axis in (0, -1, -2):
        _add("diff", f"n={_n}, axis={_axis}", _function("diff", n=_n, axis=_axis), real(4, 3))
        _ends = (real(3, 2), cplx(3, 1)) if _axis == -1 else (real(2, 3), cplx(1, 3))
        _add(
            "diff",
            f"n={_n}, axis={_axis}, ends, one complex",
            lambda xp, x, p, q, n=_n, a=_axis: xp.diff(x, n=n, axis=a, prepend=p, append=q),
            real(3, 3),
            *_ends,
        )
for _descending in (False, True):
    for _stable in (False, True):
        for _axis in (0, -1, -2):
            _options = {"axis": _axis, "descending": _descending, "stable": _stable}
            _add("sort", f"{_options}", _function("sort", **_options), real(3, 3))
_add("sort", "empty", _function("sort"), _empty(2, 0))
for _k in (-3, -1, 0, 2, 5):
    for _x in (real(2, 3), cplx(2, 3, 2), _empty(0, 2, 2)):
        for _name in ("tril", "triu"):
            _add(_name, f"k={_k}, {_shapes(_x)}", _function(_name, k=_k), _x)
        for _name in ("diagonal", "trace"):
            _add(_name, f"offset={_k}, {_shapes(_x)}", _function(_name, "linalg", offset=_k), _x)

# -- nothing, moved ---------------------------------------------------------------------------------------------------

_add("expand_dims", "empty", _function("expand_dims", axis=1), _empty(0, 2))
_add("squeeze", "empty", _function("squeeze", axis=1), _empty(0, 1))
_add("permute_dims", "empty", _function("permute_dims", axes=(1, 0)), _empty(0, 2))
_add("moveaxis", "empty", lambda xp, x: xp.moveaxis(x, 0, 1), _empty(0, 2))
_add("flip", "empty", _function("flip", axis=1), _empty(0, 2))
_add("broadcast_to", "empty", lambda xp, x: xp.broadcast_to(x, (3, 0)), _empty(1, 0))
_add("broadcast_to", "one to none", lambda xp, x: xp.broadcast_to(x, (0, 2)), real(1, 2))
_add("broadcast_arrays", "empty", lambda xp, x, y: xp.broadcast_arrays(x, y), _empty(0, 2), real(2))
_add("stack", "empty", lambda xp, x, y: xp.stack([x, y], axis=1), _empty(0, 2), _empty(0, 2))
_add("unstack", "empty", _function("unstack", axis=1), _empty(0, 2))
_add("meshgrid", "empty", lambda xp, x, y: xp.meshgrid(x, y), _empty(0), real(2))
_add("matrix_transpose", "empty", _function("matrix_transpose"), _empty(2, 0))
_add("outer", "empty", _function("outer", "linalg"), _empty(0), real(2))
_add("cross", "empty", _function("cross", "linalg"), _empty(0, 3), real(3))
_add("norm", "0-d batch", lambda xp, x: xp.norm(x, axis=0), real(2))
_add("norm", "empty", lambda xp, x: xp.norm(x, axis=1), _empty(0, 2))
for _name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
    _add(_name, "empty", _function(_name), _empty(0))
    _add(_name, "0-d", _function(_name), real())
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _make = _empty if _name in ("rfft", "ihfft") else lambda *shape: _empty(*shape) + 0j
    _add(_name, "no rows", _function(_name, "fft"), _make(0, 4))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _add(_name, "no rows", _function(_name, "fft", axes=(-1,)), _empty(0, 4) + (0 if _name == "rfftn" else 0j))

# -- choice -----------------------------------------------------------------------------------------------------------

_MASK = [[True], [False]]
_add("where", "complex, broadcast", lambda xp, x, y: xp.where(xp.asarray(_MASK), x, y), cplx(3), real(2, 1))
_add("where", "complex scalar", lambda xp, x: xp.where(xp.asarray(_MASK), x, 2j), cplx(2))
_add("where", "real scalar first", lambda xp, x: xp.where(xp.asarray(_MASK), 3.0, x), cplx(2))
for _low, _high in ((None, 1.0), (-1.0, None), (None, None), (-1.0, 1.0), (1.0, -1.0), (-1, 1)):
    _call = lambda xp, x, a=_low, b=_high: xp.clip(x, a, b)
    _add("clip", f"{_low} to {_high}", _call, real(2, 3), standard=_low != 1.0)
_add("clip", "array above", lambda xp, x, high: xp.clip(x, max=high), real(2, 3), real(2, 1))
_add("clip", "arrays", lambda xp, x, a, b: xp.clip(x, a, b), real(2, 3), real(2, 1) - 2.5, real(3) + 2.5)
_add("clip", "array and scalar", lambda xp, x, low: xp.clip(x, low, 0.5), real(2, 3), real(2, 1) - 1)

# -- linear algebra ---------------------------------------------------------------------------------------------------

for _axes, _x, _y in (
    (0, real(2), real(3)),
    (0, real(2, 2), real(3)),
    (1, real(2, 3), real(3, 2)),
    (2, real(2, 3), real(2, 3)),
    (((0,), (1,)), real(2, 3), real(4, 2)),
    (((-1, 0), (0, -1)), real(2, 3), real(3, 4, 2)),
    (((1, 2), (2, 0)), real(2, 3, 4), real(4, 5, 3)),
    (((), ()), real(2), real(2)),
    (((0,), (0,)), cplx(2, 2), real(2, 2)),
    (1, _empty(2, 0), _empty(0, 3)),
    (0, real(), real(2)),
    (((0, 2, 1), (1, 0, 2)), real(2, 3, 4), real(4, 2, 3)),
):
    _add("tensordot", f"axes={_axes}, {_shapes(_x, _y)}", _function("tensordot", axes=_axes), _x, _y)
for _axis, _x, _y in (
    (-2, cplx(3, 2), cplx(3, 2)),
    (-1, cplx(2, 1, 3), cplx(4, 3)),
    (-1, real(3), cplx(3)),
    (-1, cplx(3), real(3)),
    (-2, cplx(3, 1), real(2, 3, 4)),
    (-1, _empty(2, 0), _empty(2, 0)),
    (-1, real(2, 3), real(3)),
):
    _add("vecdot", f"axis={_axis}, {_shapes(_x, _y)}", _function("vecdot", axis=_axis), _x, _y)
for _x, _y in (
    (real(3), real(3, 2)),
    (real(4, 2, 3), real(3)),
    (real(3), real(4, 3, 2)),
    (cplx(3), real(4, 3, 2)),
    (cplx(2, 1, 2, 3), real(4, 3, 2)),
    (real(2, 3), cplx(4, 3, 2)),
    (_empty(2, 0), _empty(0, 3)),
    (_empty(0), _empty(0)),
    (_empty(0, 2, 3), _empty(3, 4)),
):
    _add("matmul", _shapes(_x, _y), _function("matmul"), _x, _y)
for _axis in (0, -1, 1):
    _call = _function("cross", "linalg", axis=_axis)
    _add("cross", f"axis={_axis}, one complex", _call, real(3, 3), cplx(3, 3), standard=_axis < 0)
_add("cross", "axis=-1, broadcast", _function("cross", "linalg", axis=-1), real(2, 1, 3), real(4, 3))
_add("cross", "axis=-2, broadcast", _function("cross", "linalg", axis=-2), real(2, 3, 1), real(3, 4))
for _x, _y in (
    (matrices(3, 2, 2), real(2)),
    (matrices(2, 2), real(3, 2, 4)),
    (matrices(3, 1, 2, 2), real(4, 2, 2)),
    (matrices(2, 2), cplx(2, 1)),
    (np.zeros((0, 2, 2)), real(2, 3)),
    (_empty(0, 0), _empty(0, 3)),
    (matrices(2, 2), _empty(2, 0)),
):
    _add("solve", _shapes(_x, _y), _function("solve", "linalg"), _x, _y)
for _name in ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals"):
    _add(_name, "0 x 0", _function(_name, "linalg"), _empty(0, 0))
    _add(_name, "no matrices", _function(_name, "linalg"), _empty(0, 2, 2))
for _name in ("svd", "svdvals", "qr", "pinv"):
    _add(_name, "no matrices", _function(_name, "linalg"), _empty(0, 3, 2))
_add("cholesky", "0 x 0, upper", _function("cholesky", "linalg", upper=True), _empty(0, 0))
_add("inv", "stacks of stacks, complex", _function("inv", "linalg"), matrices(2, 1, 2, 2, complex=True))
_add("slogdet", "stack, complex", _function("slogdet", "linalg"), matrices(2, 3, 3, complex=True))
for _label, _x in (("3 x 0", _empty(3, 0)), ("0 x 3", _empty(0, 3))):
    _add("svd", _label, _function("svd", "linalg", full_matrices=False), _x)
    _add("svdvals", _label, _function("svdvals", "linalg"), _x)
    _add("qr", _label, _function("qr", "linalg"), _x)
    _add("pinv", _label, _function("pinv", "linalg"), _x)
_add(
    "pinv",
    "of constant rank below the full",
    lambda xp, x: xp.linalg.pinv(xp.matmul(x, xp.matrix_transpose(x)), rtol=1e-4),
    real(3, 2),
)
for _n in (-2, -1, 0, 1, 2, 3, 7):
    _call = lambda xp, x, n=_n: xp.linalg.matrix_power(x, n)
    _constant = {} if _n else {"order": 1}
    _add("matrix_power", f"n={_n}, no matrices", _call, _empty(0, 2, 2), **_constant)
    _add("matrix_power", f"n={_n}, complex stack", _call, matrices(2, 2, 2, complex=True) / 2, **_constant)
for _ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
    for _keepdims in (False, True):
        _call = _function("matrix_norm", "linalg", ord=_ord, keepdims=_keepdims)
        _add("matrix_norm", f"ord={_ord}, keepdims={_keepdims}, complex stack", _call, cplx(2, 3, 2))
        _add("matrix_norm", f"ord={_ord}, keepdims={_keepdims}, no matrices", _call, _empty(0, 3, 2))
for _ord in (0, 1, 2, 3, 0.5, -1, -2.5, math.inf, -math.inf):
    for _axis, _x in (
        ((0, -1), cplx(2, 3)),
        ((-1, 0, 1), real(2, 2, 2)),
        (None, real()),
        (0, _empty(3, 0)),
        ((0, 1), _empty(2, 2, 0)),
    ):
        for _keepdims in (False, True):
            _options = {"ord": _ord, "axis": _axis, "keepdims": _keepdims}
            _constant = {} if _ord else {"order": 1}
            _add(
                "vector_norm",
                f"{_options}, {_x.shape}",
                _function("vector_norm", "linalg", **_options),
                _x,
                **_constant,
            )

# -- beyond the standard ----------------------------------------------------------------------------------------------

for _subscripts, _operands in (
    ("ii->i", (real(3, 3),)),
    ("iij->j", (cplx(2, 2, 3),)),
    ("...ij,...jk->...ik", (real(2, 1, 2, 3), real(4, 3, 2))),
    ("i,i->", (real(3), real(1))),
    ("ij,ij->i", (real(2, 3), real(1, 3))),
    ("i,j,k->kij", (real(2), real(2), real(2))),
    ("ij,ji", (real(2, 3), real(3, 2))),
    ("...,...", (real(2, 3), real(3))),
    ("i...->...", (real(2, 3),)),
    ("ii,i->", (real(2, 2), real(2))),
    ("ij,kl->", (real(2, 2), real(2, 3))),
    ("iji->j", (real(2, 3, 2),)),
    (",->", (real(), real(seed=1))),
    ("i,i,i->i", (real(3), real(3, seed=1), cplx(3))),
    ("iijj->ij", (real(2, 2, 3, 3),)),
    ("ij,jk->ik", (_empty(2, 0), _empty(0, 3))),
    ("ij...,j->...i", (real(2, 3, 2), real(3))),
    ("ii...->...i", (real(2, 2, 3),)),
):
    _call = lambda xp, *operands, s=_subscripts: xp.einsum(s, *operands)
    _add("einsum", f"{_subscripts}, {_shapes(*_operands)}", _call, *_operands)
_WIDTHS = (1, (2, 1), ((1, 0), (0, 2)), ((5, 7), (4, 3)), 0, {0: (1, 2)}, ((1,), (2,)))
for _mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    for _width in _WIDTHS:
        for _x in (cplx(2, 3), real(1, 3)):
            _call = lambda xp, x, w=_width, m=_mode: xp.pad(x, w, mode=m)
            _add("pad", f"{_mode}, {_width}, {_shapes(_x)}", _call, _x)
for _values in (2.0, (1.0, 2.0), ((1.0, 2.0), (3.0, 4.0)), ((1.0,), (3.0,))):
    _call = lambda xp, x, v=_values: xp.pad(x, ((1, 2), (0, 3)), constant_values=v)
    _add("pad", f"constant_values={_values}", _call, real(2, 3))
for _values in (real(2, 2), real(2), real(), real(2, 1)):
    _call = lambda xp, x, v: xp.pad(x, ((1, 2), (0, 3)), constant_values=v)
    _add("pad", f"constant_values of shape {_values.shape}", _call, real(2, 3), _values)
for _axis in (None, 0, (0, 1), -1, (-1, 0)):
    for _ord in (None, 2, 1, -1, math.inf, -2, "fro", "nuc", 3):
        _vector = _axis in (0, -1)
        if (_ord in ("fro", "nuc") and _vector) or (_ord == 3 and not _vector):
            continue
        for _keepdims in (False, True):
            _call = lambda xp, x, o=_ord, a=_axis, k=_keepdims: xp.norm(x, o, a, k)
            _add("norm", f"ord={_ord}, axis={_axis}, keepdims={_keepdims}", _call, cplx(2, 3))
