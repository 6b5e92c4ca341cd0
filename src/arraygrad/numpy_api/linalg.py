"""NumPy's products, numpy.linalg and numpy.fft on Tensors, with NumPy's signatures.

May import: numpy_api.functions, ops, core.protocol_shapes, core.tensor, numpy.
"""

import functools
import math
import operator
import warnings

import numpy

from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.protocol_shapes import product_of_all
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    as_plain,
    axes_of,
    beside,
    but_for_rounding,
    core_axes,
    host,
    implements,
    internal,
    refuse,
    tensor_of,
    tensors,
)
from arraygrad.ops import OPS
from arraygrad.ops._axes import no_truth_values

__all__: list[str] = []

# -- products ----------------------------------------------------------------------------------------------------------


@implements("dot", values=True)
def _dot(a, b, out=None):
    refuse("dot", out=(out, OUT))
    a, b = tensors(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return (
        a.dot(b) if a.ndim <= 2 and b.ndim <= 2 else F["tensordot"](a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))
    )


@implements("vdot")
def _vdot(a, b, /):
    a, b = tensors(a, b)
    return F["vecdot"](a.ravel(), b.ravel())


_INNER = internal("_inner")


@implements("inner")
def _inner(a, b, /):
    a, b = tensors(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _INNER(a, b)


@implements("outer")
def _outer(a, b, out=None):
    refuse("outer", out=(out, OUT))
    a, b = tensors(a, b)
    return a.reshape((-1, 1)) * b.reshape((1, -1))


@implements("linalg.outer")
def _linalg_outer(x1, x2, /):
    return F["outer"](*tensors(x1, x2))


@implements("tensordot", "linalg.tensordot")
def _tensordot(a, b, axes=2):
    a, b = tensors(a, b)
    if isinstance(axes, list | tuple):
        axes = tuple([tuple(i) if isinstance(i, list | tuple) else (i,) for i in axes])
    return F["tensordot"](a, b, axes=axes)


@implements("kron")
def _kron(a, b):
    a, b = tensors(a, b)
    ndim = max(a.ndim, b.ndim)
    rows = (1,) * (ndim - a.ndim) + a.shape
    columns = (1,) * (ndim - b.ndim) + b.shape
    left = a.reshape([n for pair in zip(rows, (1,) * ndim, strict=True) for n in pair])
    right = b.reshape([n for pair in zip((1,) * ndim, columns, strict=True) for n in pair])
    return (left * right).reshape([m * n for m, n in zip(rows, columns, strict=True)])


@functools.cache
def _cross_wants_three():
    """Whether NumPy's cross refuses vectors of two, as from 2.5 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            numpy.cross(numpy.zeros(2), numpy.zeros(2))
        except ValueError:
            return True
    return False


@implements("cross")
def _cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    a, b = tensors(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    if not (a.ndim and b.ndim):
        raise ValueError("At least one array has zero dimension")
    a, b = [F["moveaxis"](t, core_axes("own", i, t)[0], -1) for t, i in ((a, axisa), (b, axisb))]
    lengths = a.shape[-1], b.shape[-1]
    if not all(n in (2, 3) for n in lengths):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if lengths == (3, 3):
        result = F["cross"](a, b, axis=-1)
    else:
        if _cross_wants_three():
            raise ValueError(
                f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {lengths[0]} and "
                f"{lengths[1]} dimensional instead."
            )
        warnings.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. "
            "(deprecated in NumPy 2.0)",
            DeprecationWarning,
            stacklevel=3,
        )
        last = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        if lengths == (2, 2):
            return last
        if lengths == (2, 3):
            first, second = a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2])
        else:
            first, second = -(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0]
        result = F["stack"]([first, second, last], axis=-1)
    return F["moveaxis"](result, -1, core_axes("own", axisc, result)[0])


@implements("linalg.cross")
def _linalg_cross(x1, x2, /, *, axis=-1):
    x1, x2 = tensors(x1, x2)
    return F["cross"](x1, x2, axis=axis)


@implements("linalg.vecdot")
def _vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = tensors(x1, x2)
    return F["vecdot"](x1, x2, axis=axis)


@implements("linalg.matmul")
def _matmul(x1, x2, /):
    x1, x2 = tensors(x1, x2)
    return x1 @ x2


def _are_of_one_dtype(arrays):
    """Whether numpy.dot and the operator @ sum in one order: not where arrays are cast."""
    dtypes = [getattr(raw_array(t) if isinstance(t, Tensor) else t, "dtype", None) for t in arrays]
    return all(dtype == dtypes[0] for dtype in dtypes) and getattr(dtypes[0], "isnative", True)


@implements("linalg.multi_dot")
def _multi_dot(arrays, *, out=None):
    refuse("linalg.multi_dot", out=(out, OUT))
    product = product_of_all(arrays)
    if product is not NotImplemented and _are_of_one_dtype(arrays):
        return product
    items = tensors(*arrays)
    if len(items) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(items) == 2:
        return _dot(*items)
    product = product_of_all(items)
    if product is NotImplemented:
        product = functools.reduce(operator.matmul, items)
    return as_plain(numpy.linalg.multi_dot, product, arrays)


@implements("linalg.diagonal")
def _linalg_diagonal(x, /, *, offset=0):
    return F["diagonal"](tensor_of(x), offset=offset)


@implements("linalg.trace")
def _linalg_trace(x, /, *, offset=0, dtype=None):
    return F["trace"](tensor_of(x), offset=offset, dtype=dtype)


@implements("linalg.matrix_transpose")
def _linalg_matrix_transpose(x, /):
    return F["matrix_transpose"](tensor_of(x))


# -- numpy.linalg ------------------------------------------------------------------------------------------------------


@implements("linalg.solve")
def _solve(a, b):
    return F["solve"](*tensors(a, b))


@implements("linalg.inv")
def _inv(a):
    return F["inv"](tensor_of(a))


@implements("linalg.det")
def _det(a):
    return F["det"](tensor_of(a))


@implements("linalg.slogdet")
def _slogdet(a):
    return F["slogdet"](tensor_of(a))


@implements("linalg.cholesky")
def _cholesky(a, /, *, upper=False):
    return F["cholesky"](tensor_of(a), upper=upper)


@implements("linalg.qr")
def _qr(a, mode="reduced"):
    if mode not in ("reduced", "complete"):
        numpy.linalg.qr(numpy.eye(1), mode)  # NumPy's error for a mode that is none, and its warnings
        if mode not in ("r", "full", "f"):
            raise TypeError(
                f"numpy.linalg.qr: mode={mode!r} is not supported for Tensors, as LAPACK's reflections have no rule: "
                "take 'reduced', 'complete' or 'r'"
            )
    found = F["qr"](tensor_of(a), mode="complete" if mode == "complete" else "reduced")
    return found[1] if mode == "r" else found


def _hermitian(a):
    """The Hermitian matrix whose lower triangle is that of `a`: what numpy reads where hermitian=True."""
    if a.ndim < 2:
        raise numpy.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    below = F["tril"](a, k=-1)
    # Of the diagonal LAPACK reads the real parts.
    diagonal = F["tril"](F["triu"](a)).real
    return below + diagonal + F["matrix_transpose"](below).conj()


def _hermitian_svd(a, compute_uv):
    """As numpy computes it: of the eigenvalues, with their signs in Vh."""
    if not compute_uv:
        return F["sort"](F["abs"](F["eigvalsh"](a)), descending=True)
    values, vectors = F["eigh"](a)
    signs, sizes = F["sign"](values.detach()), F["abs"](values)
    order = F["flip"](F["argsort"](sizes.detach()), axis=-1)
    u = F["take_along_axis"](vectors, order[..., None, :], axis=-1)
    signs, sizes = (F["take_along_axis"](t, order, axis=-1) for t in (signs, sizes))
    return OPS["svd"].result_type(u, sizes, F["matrix_transpose"](u * signs[..., None, :]).conj())


@implements("linalg.svd")
def _svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    a = tensor_of(a)
    if hermitian:
        return as_plain(numpy.linalg.svd, _hermitian_svd(a, compute_uv), a, full_matrices, compute_uv, True)
    return F["svd"](a, full_matrices=full_matrices) if compute_uv else F["svdvals"](a)


@implements("linalg.svdvals")
def _svdvals(x, /):
    return F["svdvals"](tensor_of(x))


_OF_UPPER = {name: internal(f"_{name}_upper") for name in ("eigh", "eigvalsh")}


def _of_triangle(name, UPLO):
    """The operation that reads the triangle of that name."""
    if UPLO not in ("L", "l", "U", "u"):
        raise ValueError(f"numpy.linalg.{name}: UPLO must be 'L' or 'U', got {UPLO!r}")
    return (F if UPLO in ("L", "l") else _OF_UPPER)[name]


@implements("linalg.eigh")
def _eigh(a, UPLO="L"):
    return _of_triangle("eigh", UPLO)(tensor_of(a))


@implements("linalg.eigvalsh")
def _eigvalsh(a, UPLO="L"):
    return _of_triangle("eigvalsh", UPLO)(tensor_of(a))


@implements("linalg.eig")
def _eig(a):
    a = tensor_of(a)
    values, vectors = F["eig"](a)
    real = _are_real(a, values)
    return OPS["eig"].result_type(*[F["real"](t) if real else t for t in (values, vectors)])


@implements("linalg.eigvals")
def _eigvals(a):
    a = tensor_of(a)
    values = F["eigvals"](a)
    return F["real"](values) if _are_real(a, values) else values


@functools.cache
def _never_real():
    """Whether NumPy gives eigenvalues as complex numbers whatever they are, as from 2.5 on."""
    return numpy.iscomplexobj(numpy.linalg.eigvals(numpy.eye(1)))


def _are_real(a, values):
    """Whether NumPy gives eigenvalues as real numbers: where all of a real matrix are (of a whole stack)."""
    return not _never_real() and not numpy.iscomplexobj(raw_array(a)) and not host(values).imag.any()


_NoValue = numpy._NoValue
_RCOND = 1e-15  # numpy.linalg.pinv's own default


@implements("linalg.pinv")
def _pinv(a, rcond=None, hermitian=False, *, rtol=_NoValue):
    if rcond is not None and rtol is not _NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rtol is _NoValue:
        rtol = _RCOND if rcond is None else rcond  # None as rtol is the default of the standard
    a = tensor_of(a)
    if not hermitian:
        return F["pinv"](a, rtol=rtol)
    return as_plain(numpy.linalg.pinv, F["pinv"](_hermitian(a), rtol=rtol), a, hermitian=True, rtol=rtol)


@implements("linalg.matrix_power")
def _matrix_power(a, n):
    return F["matrix_power"](tensor_of(a), n)


@implements("linalg.matrix_rank")
def _matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    A = tensor_of(A)
    if tol is not None:  # not of the standard, and a rank has no derivative
        tol, rtol = (host(x) if isinstance(x, Tensor) else x for x in (tol, rtol))
        return beside(numpy.linalg.matrix_rank(host(A), tol, hermitian, rtol=rtol), A)
    return F["matrix_rank"](_hermitian(A) if hermitian and A.ndim > 1 else A, rtol=rtol)


@implements("linalg.matrix_norm")
def _matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return F["matrix_norm"](tensor_of(x), keepdims=keepdims, ord=ord)


@implements("linalg.vector_norm")
def _vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    return F["vector_norm"](tensor_of(x), axis=axis, keepdims=keepdims, ord=ord)


@implements("linalg.norm")
def _norm(x, ord=None, axis=None, keepdims=False):
    if axis is not None and not isinstance(axis, tuple):
        try:
            axis = int(axis)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if ord is None or (isinstance(ord, str) and ord in ("f", "fro")):  # a sum over the axes; others move them
        no_truth_values(axis)
    return F["norm"](tensor_of(x), ord=ord, axis=axis, keepdims=keepdims)


@implements("linalg.cond", values=True)
def _cond(x, p=None):
    x = tensor_of(x)
    try:
        found = _ratio(x, p)
    except numpy.linalg.LinAlgError:
        if type(raw_array(x)) is not numpy.ndarray:
            raise
        return _with_unlimited(x, p)
    known = type(raw_array(x)) is not numpy.ndarray or numpy.isfinite(raw_array(found)).all()
    return found if known else _with_unlimited(x, p)


def _ratio(x, p):
    if p is None or p in (2, -2):
        values = F["svdvals"](x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    inverse = F["inv"](x)
    return F["matrix_norm"](x, ord=p) * F["matrix_norm"](inverse, ord=p)


def _with_unlimited(x, p):
    """Condition numbers of a stack in which some are not finite: NumPy's values of these, whose gradient is nan."""
    plain = raw_array(x)
    values = numpy.asarray(numpy.linalg.cond(plain, p))
    lost = ~numpy.isfinite(values) | ~numpy.isfinite(plain).all(axis=(-2, -1))
    masks, unit = beside(lost[..., None, None], x), beside(numpy.eye(*plain.shape[-2:], dtype=plain.dtype), x)
    # Zeros, as hypot(nan, inf) is inf and 1 / inf is 0. The slope of such a one is nan, as that of nan * x is.
    zeros = 1.0 / F["hypot"](F["real"](x) * F["where"](masks, numpy.nan, 0.0), numpy.inf).sum(axis=(-2, -1))
    shown = beside(numpy.where(lost, values, 0), x) + zeros
    return F["where"](beside(lost, x), shown, _ratio(F["where"](masks, unit, x), p))


def _least_squares(a, b, rcond):
    """(solution of least norm, sums of squared residuals, rank, singular values) of a @ x = b."""
    m, n = a.shape
    singular = F["svdvals"](a)
    sizes = host(singular)
    rank = numpy.int32((sizes > rcond * sizes.max(initial=0.0)).sum())  # NumPy's type
    solution = F["pinv"](a, rtol=rcond) @ b
    if rank == n and m > n:
        away = b - a @ solution
        residuals = F["real"](away * away.conj()).sum(axis=0)
        residuals = residuals.reshape(1) if b.ndim == 1 else residuals
        plain = [raw_array(t) for t in (a, b)]
        if all(type(t) is numpy.ndarray for t in plain) and residuals.requires_grad and b.size:
            size = numpy.abs(plain[1]).max() ** 2 * m  # of an exact fit rounding errors are left, squared
            residuals = but_for_rounding(residuals, numpy.linalg.lstsq(*plain, rcond)[1], size)
    else:
        residuals = F["real"](F["zeros_like"](solution.detach()).reshape(-1)[:0])
    return solution, residuals, rank, singular


@implements("linalg.lstsq", values=True)
def _lstsq(a, b, rcond=None):
    a, b = tensors(a, b)
    dtype = F["result_type"](a, b)
    if not backend_of(a).xp.isdtype(dtype, ("real floating", "complex floating")):
        dtype = backend_of(a).xp.float64
    a, b = a.astype(dtype), b.astype(dtype)
    if a.ndim != 2:
        raise numpy.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if a.shape[0] != b.shape[0]:
        raise numpy.linalg.LinAlgError("Incompatible dimensions")
    eps = float(backend_of(a).xp.finfo(dtype).eps)
    if rcond is None:
        rcond = eps * max(a.shape)
    return _least_squares(a, b, eps if rcond < 0 else rcond)  # for less than zero LAPACK leaves out rounding errors


@implements("linalg.tensorinv")
def _tensorinv(a, ind=2):
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    a = tensor_of(a)
    inverse = F["inv"](a.reshape((math.prod(a.shape[:ind]), -1)))
    return inverse.reshape(a.shape[ind:] + a.shape[:ind])


@implements("linalg.tensorsolve")
def _tensorsolve(a, b, axes=None):
    a, b = tensors(a, b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            if k not in order:
                raise ValueError(
                    f"numpy.linalg.tensorsolve: axes={axes} must be numbers from 0 to {a.ndim - 1}, as in NumPy"
                )
            order.remove(k)
            order.append(k)
        a = a.transpose(order)
    rest = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(rest)
    if a.size != n**2:
        raise numpy.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return F["solve"](a.reshape((n, n)), b.reshape(-1)).reshape(rest)


# -- numpy.fft ---------------------------------------------------------------------------------------------------------


def _one_axis(name):
    def transform(a, n=None, axis=-1, norm=None, out=None):
        refuse(f"fft.{name}", out=(out, OUT))
        return F[name](tensor_of(a), n=n, axis=axis, norm="backward" if norm is None else norm)

    return transform


def _many_axes(name, default_axes=None):
    def transform(a, s=None, axes=default_axes, norm=None, out=None):
        refuse(f"fft.{name}", out=(out, OUT))
        a = tensor_of(a)
        if axes is None and s is not None:
            axes_of(tuple(range(-len(s), 0)), a.ndim)  # NumPy's error for more lengths than axes
        return F[name](a, s=s, axes=axes, norm="backward" if norm is None else norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(f"fft.{_name}")(_one_axis(_name))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    implements(f"fft.{_name}")(_many_axes(_name))
    implements(f"fft.{_name[:-1]}2")(_many_axes(_name, (-2, -1)))


@implements("fft.fftshift")
def _fftshift(x, axes=None):
    return F["fftshift"](tensor_of(x), axes=axes)


@implements("fft.ifftshift")
def _ifftshift(x, axes=None):
    return F["ifftshift"](tensor_of(x), axes=axes)
