"""Internal operations: the array object's own (indexing, assignment, device moves) and adjoints that rules need.

May import: ops.elementwise, ops.kinds, ops._scatter, ops._factorizations, ops._helpers, ops._products, ops._windows;
ops._cofactor, ops._convolution, ops._folds and ops._transfer on first use. Their names begin with "_"; rules call them
as `xp._name(...)`.
"""

import math

from arraygrad.ops import _factorizations, _products, _scatter, _windows
from arraygrad.ops._helpers import at_kinks, is_complex
from arraygrad.ops.elementwise import LN2, logaddexp_share, pow_x1, pow_x2
from arraygrad.ops.kinds import binary, call, core, elementwise, gather, module_on_use, scan, scatter, unary, view, zero

_cofactor = module_on_use("arraygrad.ops._cofactor")
_convolution = module_on_use("arraygrad.ops._convolution")
_folds = module_on_use("arraygrad.ops._folds")
_transfer = module_on_use("arraygrad.ops._transfer")


def _at(xp, x, key):
    try:
        return x[key]
    except ValueError as error:
        if "step must be" not in str(error):
            raise
        raise ValueError(
            f"{error}: arrays of this library have no slices with a negative step; use arraygrad.flip(t, axis=0)"
        ) from None


gather(
    "_getitem",
    "x, key, /",
    core="(n*)->?",
    forward=_at,
    x=lambda xp, g, x_shape, key: xp._getitem_adjoint(g, x_shape, key),
    may_view=True,
    doc="x[key]: ints, slices, ..., None, one boolean mask, or integer arrays. The gradients of elements taken more "
    "than once are summed.",
)
scatter(
    "_getitem_adjoint",
    "x, shape, key, /",
    core="(n*)->(*shape)",
    forward=_scatter.getitem_adjoint,
    x=lambda g, key: g[key],
    doc="Zeros of `shape` and x's dtype with x added at `key`, once for every time it is named.",
)
scatter(
    "_add_at",
    "x, key, value, /",
    core="(n*)->(*n)",
    forward=_scatter.add_at,
    x=lambda g: g,
    value=lambda g, key: g[key],
    doc="A copy of x with `value` (an array that broadcasts) added at `key`, once for every time it is named.",
)
scatter(
    "_setitem",
    "x, key, value, /",
    core="(n*)->(*n)",
    forward=_scatter.setitem,
    x=lambda xp, g, key: xp._setitem(g, key, 0.0),
    value=_scatter.written_gradient,
    doc="A copy of x with `value` (an array that broadcasts, or a Python scalar) at `key`. x gets the gradient with "
    "that region zeroed, value its region; of values written to one place only the last counts.",
)
scatter(
    "_take_adjoint",
    "x, indices, shape, axis, /",
    core="(n*)->(*shape)",
    forward=_scatter.take_adjoint,
    x=lambda xp, g, indices, axis: xp.take(g, indices) if axis is None else xp.take(g, indices, axis=axis),
    doc="Zeros of `shape` with x added at `indices` along `axis`: the adjoint of `take`.",
)
scatter(
    "_take_along_axis_adjoint",
    "x, indices, shape, axis, /",
    core="(n*)->(*shape)",
    forward=_scatter.take_along_axis_adjoint,
    x=lambda xp, g, indices, axis: xp.take_along_axis(g, indices, axis=axis),
    doc="Zeros of `shape` with x added at `indices` along `axis`: the adjoint of `take_along_axis`.",
)
view(
    "_windows",
    "x, lengths, axes, /",
    core="(n*)->(*windowed(n, lengths, axes))",
    forward=_windows.windows,
    x=lambda xp, g, x_shape, lengths, axes: _windows.summed(xp, g, x_shape, lengths, axes),
    may_view=True,
    doc="Windows of `lengths` that slide along `axes`, as the last axes; a read-only view of NumPy's arrays. The "
    "gradient of an element is summed over the windows that it lies in.",
)
view(
    "_strided",
    "x, shape, strides, own, /",
    core="(n*)->(*shape)",
    forward=_windows.strided,
    x=lambda xp, g, x_shape, shape, strides, own: _windows.strided_adjoint(xp, g, x_shape, shape, strides, own),
    may_view=True,
    doc="The read-only view of an array of NumPy's by `shape` and `strides`, in bytes, of which `own` are its strides. "
    "The gradient of an element is summed over the places that show it.",
)
core(
    "_segment_sums",
    "x, ufunc, starts, axis, /",
    core="(n)->(len(starts))",
    derivative="linear",
    forward=lambda xp, x, ufunc, starts, axis: _folds.segments(xp, x, ufunc, starts, axis),
    x=lambda xp, g, x_shape, ufunc, starts, axis: _folds.linear_segments_rule(xp, g, x_shape, ufunc, starts, axis),
    doc="Sums (`ufunc` 'add') of the segments that begin at `starts` along `axis`, or of each the first element less "
    "the others ('subtract').",
)
core(
    "_segment_folds",
    "x, ufunc, starts, axis, /",
    core="(n)->(len(starts))",
    forward=lambda xp, x, ufunc, starts, axis: _folds.real_segments(xp, x, ufunc, starts, axis),
    x=lambda xp, g, x, ans, ufunc, starts, axis: _folds.segments_rule(xp, g, x, ans, ufunc, starts, axis),
    holomorphic=False,
    doc="As `_segment_sums` by 'maximum' or 'minimum', where ties share the gradient evenly, 'logaddexp' (of finite "
    "numbers), or 'multiply' (of numbers that divide their product).",
)
scan(
    "_running_differences",
    "x, axis, /",
    derivative="linear",
    forward=lambda xp, x, axis: _folds.running(xp, x, "subtract", axis),
    x=lambda xp, g, axis: _folds.running_differences_rule(xp, g, axis),
    doc="The first element along `axis` less all others up to each.",
)
scan(
    "_running_folds",
    "x, ufunc, axis, /",
    forward=lambda xp, x, ufunc, axis: _folds.running(xp, x, ufunc, axis),
    x=lambda xp, g, x, ans, ufunc, axis: _folds.running_rule(xp, g, x, ans, ufunc, axis),
    holomorphic=False,
    doc="The largest ('maximum') or smallest ('minimum') of all elements up to each along `axis`, or their "
    "'logaddexp'. An element that ties with what came before it shares the gradient with that evenly.",
)
view(
    "_identity",
    "x, /",
    core="()->()",
    forward=lambda xp, x: x,
    x=lambda g: g,
    doc="x itself, over the same memory, at a new place in the graph: a leaf's stand-in that may be written in place.",
)
view(
    "_copy",
    "x, /",
    core="()->()",
    forward=lambda xp, x: xp.asarray(x, copy=True),
    x=lambda g: g,
    doc="A copy of x.",
)
call(
    "_implicit",
    "arrays, problem, /",
    core="[...]->?",
    forward=lambda xp, arrays, problem: problem.solution,
    arrays=lambda g, ans, arrays, problem: problem.pull(g, ans, arrays),
    sequence="arrays",
    holomorphic=False,
    doc="The solution of a problem that depends on `arrays`, found before by any solver: `problem.solution`. Its "
    "gradients are `problem.pull(g, ans, arrays)`, one for each of them (`arraygrad.implicit`).",
)


def _to_device(xp, x, device, stream):
    if device is None:  # the device of an array whose library has only the host
        return x
    if hasattr(x, "to_device"):
        return x.to_device(device, stream=stream)
    import array_api_compat  # libraries whose arrays lack the method are served by it

    return array_api_compat.to_device(x, device, stream=stream)


view(
    "_to_device",
    "x, device, /, *, stream=None",
    core="()->()",
    forward=_to_device,
    x=lambda xp, g, x_device: xp._to_device(g, x_device),
    may_view=True,
    doc="x on `device`, x itself if it is there. The gradient moves back.",
)
view(
    "_to_backend",
    "x, library, device, source, source_device, /",
    core="()->()",
    forward=lambda xp, x, library, device, source, source_device: _transfer.convert(x, library, device),
    x=lambda xp, g, library, device, source, source_device: xp._to_backend(g, source, source_device, library, device),
    makes_arrays=True,
    doc="x as an array of `library` on `device` (None: where it is, or where that library puts it). The gradient goes "
    "back to `source`, on `source_device`.",
)
core(
    "_cofactor",
    "x, /",
    core="(n,n)->(n,n)",
    forward=lambda xp, x: _cofactor.cofactor(xp, x),
    x=lambda xp, g, x: _cofactor.cofactor_rule(xp, g, x),
    doc="Cofactors of square matrices (..., n, n): the derivative of `det`, right at singular matrices too.",
)
elementwise(
    "_zero_unknown",
    "x, /",
    forward=lambda xp, x: xp.zeros_like(x),
    x=lambda xp, g: xp.full_like(g, xp.nan),
    doc="Zeros of the shape of x that have no known derivative: it is nan.",
)
core(
    "_cofactors_along",
    "x1, x2, /",
    core="(n,n),(n,n)->(n,n)",
    forward=lambda xp, x1, x2: _cofactor.along(xp, x1, x2),
    x1=lambda xp, g, x1, x2: _cofactor.along_rule(xp, g, x1, x2),
    x2=lambda xp, g, x1: xp._cofactors_along(x1, g),
    doc="The derivative of the cofactors of x1 along x2: the second one of `det`. Square matrices (..., n, n) of one "
    "shape.",
)
core(
    "_eigh_upper",
    "x, /",
    core="(n,n)->(n),(n,n)",
    forward=_factorizations.eigh_upper_forward,
    x=lambda xp, g, ans, x: _factorizations.eigh(xp, g, ans, x, True),
    results=("eigenvalues", "eigenvectors"),
    holomorphic=False,
    doc="`eigh` of Hermitian matrices whose upper triangle is read, NumPy's UPLO='U'.",
)
core(
    "_eigvalsh_upper",
    "x, /",
    core="(n,n)->(n)",
    forward=_factorizations.eigvalsh_upper_forward,
    x=lambda xp, g, x: _factorizations.eigvalsh(xp, g, x, True),
    holomorphic=False,
    doc="`eigvalsh` of Hermitian matrices whose upper triangle is read, NumPy's UPLO='U'.",
)


def _imag_of_real(xp, x):
    if is_complex(xp, x.dtype):
        raise TypeError(f"imag: expected an array of a real dtype, found {x.dtype}")
    return xp.zeros_like(x)


zero(
    "_imag_of_real",
    "x, /",
    forward=_imag_of_real,
    doc="The imaginary part of real numbers: zeros, with a gradient of zeros.",
)
zero(
    "_angle_of_real",
    "x, /",
    forward=lambda xp, x: xp.atan2(xp.zeros_like(x), x),
    doc="The angle of real floating-point numbers: pi where the sign bit is set, else zero. Its gradient is zeros.",
)
core(
    "_convolve",
    "x1, x2, /",
    core="(m),(n)->(m+n-1)",
    derivative="multilinear",
    forward=lambda xp, x1, x2: _convolution.convolve(xp, x1, x2),
    x1=lambda xp, g, x2: xp._correlate(g, x2),
    x2=lambda xp, g, x1: xp._correlate(g, x1),
    doc="The full convolution of two vectors of one floating-point dtype, n + m - 1 elements.",
)
core(
    "_correlate",
    "x1, x2, /",
    core="(m),(n)->(m-n+1)",
    derivative="multilinear",
    forward=lambda xp, x1, x2: _convolution.correlate(xp, x1, x2),
    x1=lambda xp, g, x2: xp._convolve(g, x2),
    x2=lambda xp, g, x1: xp._correlate(x1, g),
    doc="The correlation of a vector and a shorter one of its floating-point dtype where both overlap in full, without "
    "conjugation: n - m + 1 elements.",
)


# -- NumPy's products beyond the standard ------------------------------------------------------------------------------

core(
    "_inner",
    "x1, x2, /",
    core="(m*,k),(n*,k)->(*m,*n)",
    derivative="multilinear",
    forward=_products.inner,
    x1=lambda xp, g, x2: _products.inner_rule(xp, g, x2, tuple(range(x2.ndim - 1)), 1 - x2.ndim),
    x2=lambda xp, g, x1: _products.inner_rule(xp, g, x1, tuple(range(x1.ndim - 1)), 0),
    numpy=("inner",),
    doc="Sums of products over the last axes of two arrays that have axes, as numpy.inner.",
)
core(
    "_matvec",
    "x1, x2, /",
    core="(m,n),(n)->(m)",
    derivative="multilinear",
    forward=_products.matvec,
    x1=lambda g, x2: g[..., :, None] * x2[..., None, :],
    x2=lambda xp, g, x1: xp._matvec(xp.matrix_transpose(x1), g),
    numpy=("matvec",),
    doc="Products of matrices and vectors as numpy.matvec: of x1 the last two axes, of x2 the last; the others "
    "broadcast.",
)
core(
    "_vecmat",
    "x1, x2, /",
    core="(m),(m,n)->(n)",
    derivative="multilinear",
    forward=_products.vecmat,
    # conjugates x1, hence not holomorphic in it
    x1=lambda xp, g, x2: xp._matvec(x2, xp.conj(g)),
    x2=lambda g, x1: x1[..., :, None] * g[..., None, :],
    holomorphic=False,
    numpy=("vecmat",),
    doc="Products of vectors, conjugated, and matrices as numpy.vecmat: of x1 the last axis, of x2 the last two; the "
    "others broadcast.",
)


def _cube_root(xp, x):
    own = getattr(xp, "cbrt", None)
    return own(x) if own is not None else xp.sign(x) * xp.abs(x) ** (1 / 3)


unary(
    "_cbrt",
    lambda g, ans: g / (3.0 * ans * ans),
    forward=_cube_root,
    numpy=("cbrt",),
    doc="The real cube root, real floating-point dtypes; its derivative is infinite at zero.",
)


# -- NumPy's ufuncs beyond the standard, each computed as NumPy does where the library has it --------------------------


def _together(xp, x1, x2, least=None):
    """Two operands, of which one may be a Python number, as arrays of their common dtype; `least` if that is none."""
    dtype = xp.result_type(x1, x2)
    if least is not None and not xp.isdtype(dtype, ("real floating", "complex floating")):
        dtype = least
    like = x1 if hasattr(x1, "dtype") else x2
    device = getattr(like, "device", None)
    return [
        (x if x.dtype == dtype else xp.astype(x, dtype))
        if hasattr(x, "dtype")
        else xp.asarray(x, dtype=dtype, device=device)
        for x in (x1, x2)
    ]


def _is_real(xp, x):
    return xp.isdtype(x.dtype, "real floating")


def _exp2(xp, x):
    own = getattr(xp, "exp2", None)
    serves = own is not None and (_is_real(xp, x) or "D->D" in getattr(own, "types", ()))
    return own(x) if serves else xp.pow(2.0, x)


unary(
    "_exp2",
    lambda g, ans: g * (ans * LN2),
    forward=_exp2,
    numpy=("exp2",),
    doc="2 ** x as numpy.exp2. Derivative log(2) 2 ** x.",
)


def _own_or(name, composed):
    """forward(xp, x) of a ufunc that NumPy has for real arrays only; other libraries' values are `composed(xp, x)`."""

    def forward(xp, x):
        own = getattr(xp, name, None)
        if own is not None:
            return own(x)
        if is_complex(xp, x.dtype):
            raise TypeError(f"numpy.{name}: expected an array of a real dtype, but found {x.dtype}")
        return composed(xp, x if _is_real(xp, x) else xp.astype(x, xp.float64))

    return forward


unary(
    "_fabs",
    lambda xp, g, x: at_kinks(xp, g * xp.sign(x), g, x, x, straight=True),
    forward=_own_or("fabs", lambda xp, x: xp.abs(x)),
    numpy=("fabs",),
    doc="abs(x) as numpy.fabs, real dtypes.",
)
unary(
    "_deg2rad",
    lambda g: g * (math.pi / 180.0),
    forward=_own_or("deg2rad", lambda xp, x: x * (math.pi / 180.0)),
    derivative="linear",
    numpy=("deg2rad", "radians"),
    doc="pi x / 180 as numpy.deg2rad and numpy.radians, real dtypes.",
)
unary(
    "_rad2deg",
    lambda g: g * (180.0 / math.pi),
    forward=_own_or("rad2deg", lambda xp, x: x * (180.0 / math.pi)),
    derivative="linear",
    numpy=("rad2deg", "degrees"),
    doc="180 x / pi as numpy.rad2deg and numpy.degrees, real dtypes.",
)


def _logaddexp2(xp, x1, x2):
    x1, x2 = _together(xp, x1, x2, xp.float64)
    own = getattr(xp, "logaddexp2", None)
    return own(x1, x2) if own is not None else xp.logaddexp(x1 * LN2, x2 * LN2) / LN2


binary(
    "_logaddexp2",
    x1=lambda xp, g, x1, x2: logaddexp_share(xp, g, x1, x2, LN2),
    x2=lambda xp, g, x1, x2: logaddexp_share(xp, g, x2, x1, LN2),
    forward=_logaddexp2,
    numpy=("logaddexp2",),
    doc="log2(2 ** x1 + 2 ** x2) without overflow, as numpy.logaddexp2, real dtypes. Equal infinities share the "
    "gradient evenly.",
)


def _without_nan(name, extremum):
    """forward(xp, x1, x2) of fmax or fmin: a nan gives way to the other operand."""

    def forward(xp, x1, x2):
        x1, x2 = _together(xp, x1, x2)
        if not xp.isdtype(x1.dtype, ("real floating", "complex floating")):
            return getattr(xp, extremum)(x1, x2)
        own = getattr(xp, name, None)
        if own is not None:
            return own(x1, x2)
        return getattr(xp, extremum)(xp.where(xp.isnan(x1), x2, x1), xp.where(xp.isnan(x2), x1, x2))

    return forward


def _chosen(xp, g, x, other, lost):
    # Where both are nan each gets the gradient.
    share = xp.where(x == other, g / 2, xp.where(lost, 0.0, g))
    return xp.where(xp.isnan(other), g, xp.where(xp.isnan(x), 0.0, share))


_OF_NAN = "A nan gives way to the other operand and has no part in the derivative; equal operands share the gradient."
binary(
    "_fmax",
    x1=lambda xp, g, x1, x2: _chosen(xp, g, x1, x2, x1 < x2),
    x2=lambda xp, g, x1, x2: _chosen(xp, g, x2, x1, x2 < x1),
    holomorphic=False,
    forward=_without_nan("fmax", "maximum"),
    numpy=("fmax",),
    doc="The larger of x1 and x2 as numpy.fmax, real dtypes. " + _OF_NAN,
)
binary(
    "_fmin",
    x1=lambda xp, g, x1, x2: _chosen(xp, g, x1, x2, x1 > x2),
    x2=lambda xp, g, x1, x2: _chosen(xp, g, x2, x1, x2 > x1),
    holomorphic=False,
    forward=_without_nan("fmin", "minimum"),
    numpy=("fmin",),
    doc="The smaller of x1 and x2 as numpy.fmin, real dtypes. " + _OF_NAN,
)


def _fmod(xp, x1, x2):
    x1, x2 = _together(xp, x1, x2)
    own = getattr(xp, "fmod", None)
    if own is not None:
        return own(x1, x2)
    rest = xp.remainder(xp.abs(x1), xp.abs(x2))
    return xp.copysign(rest, x1) if _is_real(xp, x1) else xp.where(x1 < 0, -rest, rest)


binary(
    "_fmod",
    x1=lambda g: g,
    x2=lambda xp, g, x1, x2: -g * xp.trunc(x1 / x2),
    forward=_fmod,
    numpy=("fmod",),
    doc="Remainder of x1 / x2 with the sign of x1 as numpy.fmod, real dtypes: x1 - x2 * trunc(x1 / x2). At the jumps "
    "the quotient is taken as constant.",
)


def _double(xp, x, like=None):
    """An operand in double precision or more, a number as it is; `like` has the dtype of the result, where known."""
    if not hasattr(x, "dtype") or (like is not None and x.dtype == like.dtype):
        return x
    floating = xp.isdtype(x.dtype, ("real floating", "complex floating"))
    return xp.astype(x, xp.result_type(x.dtype, xp.float64) if floating else xp.float64)


def _float_power(xp, x1, x2):
    x1, x2 = _double(xp, x1), _double(xp, x2)
    own = getattr(xp, "float_power", None)  # NumPy's has a loop of its own, which rounds otherwise than that of power
    return own(x1, x2) if own is not None else xp.pow(x1, x2)


binary(
    "_float_power",
    x1=lambda xp, g, x1, x2: pow_x1(xp, g, _double(xp, x1, g), _double(xp, x2, g)),
    x2=lambda xp, g, ans, x1, x2: pow_x2(xp, g, ans, _double(xp, x1, g), _double(xp, x2, g)),
    forward=_float_power,
    numpy=("float_power",),
    doc="x1 ** x2 as numpy.float_power computes it, at least double precision. Derivatives are those of `pow`.",
)
