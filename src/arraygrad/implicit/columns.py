"""Many calls of a small function at once: arrays of a library whose arrays are several, of one shape.

May import: backends, implicit.common, transforms.trace, core.containers, core.tensor, array_api_compat, numpy.

Note [Calls at many points]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) The right side of an equation is wanted with its Jacobian at all stages of many steps, and a recorded call costs
    far more than its arithmetic where the state is small. So it is called once, with Tensors over `Columns`: an array
    of shape s that stands for m arrays of that shape, one for each point, kept as one array (m, *s).
(2) `Columns` is an array library like others: the function, the table's rules and adoption see the shape s. What one
    point would compute is computed for all, because each function of the namespace is NumPy's with the axis of points
    in front. A function that has no such form is not in the namespace.
(3) A value that would have to be one number (a branch, float(), an index) is refused, and so is an array of NumPy
    beside Columns. Then, and where the values are not those that the solver had at these points, `at_once` raises
    NoForm, and its caller calls the function point by point.
Guarded by tests/implicit/test_calls_at_many_points.py.
"""

import math
import types

import array_api_compat.numpy as np
import numpy

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor, wrap_raw
from arraygrad.implicit.common import raw
from arraygrad.transforms.trace import Trace

__all__ = ["Columns", "NoForm", "at_once", "beside"]

_CLOSE = 1e-7  # how near the values have to be, relative to the largest of each component


class NoForm(Exception):
    """A function has no form for many points at once: it is to be called point by point."""


class _One(TypeError):
    """A value was asked for that has to be one number."""


def _refuse(self, *args, **kwargs):
    raise _One("values at many points are no single number")


def _behind(key):
    """A key for what stands behind the axis of points."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts):
        raise _One("an index of values at many points")
    return (slice(None), *parts)


def _operator(name):
    def left(self, other):
        return getattr(namespace, name)(self, other)

    def right(self, other):
        return getattr(namespace, name)(other, self)

    return left, right


class Columns:
    """Arrays of one shape at many points: `values` (m, *shape), or (1, *shape) for the same one at all of them."""

    __slots__ = ("values",)
    device = "cpu"

    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape[1:])
    ndim = property(lambda self: self.values.ndim - 1)
    size = property(lambda self: math.prod(self.values.shape[1:]))
    dtype = property(lambda self: self.values.dtype)
    T = property(lambda self: namespace.permute_dims(self, tuple(range(self.ndim))[::-1]))
    mT = property(lambda self: namespace.matrix_transpose(self))

    def __array_namespace__(self, api_version=None):
        return namespace

    def __getitem__(self, key):
        return Columns(self.values[_behind(key)])

    def __setitem__(self, key, value):
        key = _behind(key)
        if isinstance(value, Columns):
            m, value = len(value.values), _aligned((value, self[key[1:]]))[0]
            if m > len(self.values):
                self.values = numpy.repeat(self.values, m, axis=0)
        elif not isinstance(value, (bool, int, float, complex, numpy.generic)):
            raise _One("an array of another library beside values at many points")
        self.values[key] = value

    def __neg__(self):
        return Columns(-self.values)

    def __pos__(self):
        return self

    def __abs__(self):
        return Columns(abs(self.values))

    def __invert__(self):
        return Columns(~self.values)

    def __matmul__(self, other):
        return _matmul(self, other)

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __pow__, __rpow__ = _operator("pow")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("remainder")
    __and__, __rand__ = _operator("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor")
    __lt__ = _operator("less")[0]
    __le__ = _operator("less_equal")[0]
    __gt__ = _operator("greater")[0]
    __ge__ = _operator("greater_equal")[0]
    __eq__ = _operator("equal")[0]  # type: ignore[assignment]
    __ne__ = _operator("not_equal")[0]  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    __bool__ = __float__ = __int__ = __index__ = __complex__ = __array__ = __iter__ = __len__ = __dlpack__ = _refuse


def _aligned(args):
    """The arrays inside, with axes behind that of the points, so that they broadcast as those of one point do."""
    ndim = max(arg.ndim for arg in args if isinstance(arg, Columns))
    found = []
    for arg in args:
        if isinstance(arg, Columns):
            v = arg.values
            arg = v if v.ndim == ndim + 1 else v.reshape(v.shape[0], *(1,) * (ndim + 1 - v.ndim), *v.shape[1:])
        elif not isinstance(arg, (bool, int, float, complex, numpy.generic)):
            raise _One("an array of another library beside values at many points")
        found.append(arg)
    return found


def _elementwise(function):
    def call(*args, **kwargs):
        return Columns(function(*_aligned(args), **kwargs))

    return call


def _axes(axis, ndim):
    """Axes of the arrays inside, for those of one point; None is all of these."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(a % ndim + 1 for a in axis)
    return axis % ndim + 1


def _along(function, fixed=None):
    """A function of one array with an axis, which by default is `fixed`."""

    def call(x, /, *, axis=fixed, **kwargs):
        return Columns(function(x.values, axis=_axes(axis, x.ndim), **kwargs))

    return call


def _together(function, new):
    def call(arrays, /, *, axis=0):
        ndim = arrays[0].ndim + new
        m = max(len(x.values) for x in arrays)
        return Columns(function([np.broadcast_to(x.values, (m, *x.shape)) for x in arrays], axis=axis % ndim + 1))

    return call


def _unstack(x, /, *, axis=0):
    return tuple(Columns(part) for part in np.moveaxis(x.values, axis % x.ndim + 1, 0))


def _asarray(obj, /, *, dtype=None, device=None, copy=None):
    if isinstance(obj, Columns):
        return Columns(np.asarray(obj.values, dtype=dtype, copy=copy))
    return Columns(np.asarray(obj, dtype=dtype)[None])


def _filled(function):
    def call(shape, *args, dtype=None, device=None):
        return Columns(function((1, *(shape if isinstance(shape, tuple) else (shape,))), *args, dtype=dtype))

    return call


def _filled_like(function):
    def call(x, /, *args, dtype=None, device=None):
        return Columns(function(x.values[:1], *args, dtype=dtype))

    return call


def _matmul(a, b):
    x, y = a.values, b.values
    if a.ndim == 1 and b.ndim == 1:
        return Columns(np.sum(x * y, axis=-1))
    x, y = x[:, None, :] if a.ndim == 1 else x, y[..., None] if b.ndim == 1 else y
    found = np.matmul(*_aligned((Columns(x), Columns(y))))
    return Columns(found[..., 0, :] if a.ndim == 1 else found[..., 0] if b.ndim == 1 else found)


def _result_type(*args):
    return np.result_type(*[arg.dtype if isinstance(arg, Columns) else arg for arg in args])


def _can_cast(x, to, /):
    return np.can_cast(x.dtype if isinstance(x, Columns) else x, to)


_ELEMENTWISE = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_or bitwise_xor ceil clip conj "
    "copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan "
    "less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum "
    "multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh sqrt "
    "square subtract tan tanh trunc where"
).split()


def _namespace():
    own = {name: _elementwise(getattr(np, name)) for name in _ELEMENTWISE}
    own |= {name: _along(getattr(np, name)) for name in ("sum", "prod", "mean", "max", "min", "any", "all", "squeeze")}
    own |= {"cumulative_sum": _along(np.cumulative_sum, -1), "flip": _along(np.flip)}
    own |= {"stack": _together(np.stack, 1), "concat": _together(np.concat, 0)}
    own |= {name: _filled(getattr(np, name)) for name in ("zeros", "ones", "full", "empty")}
    own |= {f"{name}_like": _filled_like(getattr(np, f"{name}_like")) for name in ("zeros", "ones", "full", "empty")}
    own |= {
        "unstack": _unstack,
        "asarray": _asarray,
        "astype": lambda x, dtype, /, *, copy=True, device=None: Columns(np.astype(x.values, dtype, copy=copy)),
        "reshape": lambda x, /, shape, *, copy=None: Columns(np.reshape(x.values, (len(x.values), *shape))),
        "expand_dims": lambda x, /, *, axis=0: Columns(np.expand_dims(x.values, axis=axis % (x.ndim + 1) + 1)),
        "permute_dims": lambda x, /, axes: Columns(np.permute_dims(x.values, (0, *_axes(tuple(axes), x.ndim)))),
        "matrix_transpose": lambda x, /: Columns(np.matrix_transpose(x.values)),
        "broadcast_to": lambda x, /, shape: Columns(
            np.broadcast_to(_aligned((x, Columns(np.empty((1,) * (len(shape) + 1)))))[0], (len(x.values), *shape))
        ),
        "matmul": _matmul,
        "result_type": _result_type,
        "can_cast": _can_cast,
        "isdtype": np.isdtype,
        "finfo": np.finfo,
        "iinfo": np.iinfo,
    }  # fmt: skip
    constants = ("pi", "e", "inf", "nan", "newaxis", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                 "uint32", "uint64", "float32", "float64", "complex64", "complex128")  # fmt: skip
    own |= {name: getattr(np, name) for name in constants}
    found = types.ModuleType(__name__)
    found.__dict__.update(own)
    return found


namespace: types.ModuleType = _namespace()


class _Backend(GenericBackend):
    """Columns: a write makes a new array, as what stood once may stand for all points afterwards."""

    def write(self, raw, key, value):
        """A new array with `value` at `key`."""
        fresh = Columns(raw.values.copy())
        fresh[key] = value
        return fresh

    def clone(self, array, like):
        """The array itself: `write` never changes one."""
        return array


attach(_Backend("columns", namespace, Columns, False), "columns", Columns)


def beside(y, constants):
    """What stands beside `y` in a call: with a Tensor over Columns, arrays of floats are such Tensors."""
    if not isinstance(y, Tensor) or not isinstance(y.array, Columns):
        return constants
    leaves, structure = flatten(constants)
    return unflatten(structure, [wrap_raw(Columns(x[None])) if _is_plain(x) else x for x in leaves])


def _is_plain(x):
    return type(x) is numpy.ndarray and x.dtype.kind in "fc" and x.ndim > 0


def at_once(f, t, y, parameters, known=None):
    """The function at many points, and what multiplies by its Jacobians there.

    Parameters
    ----------
    f : callable
        f(t, y, *parameters), of the shape (n,) of y.
    t : numpy.ndarray (m,)
    y : numpy.ndarray (m, n)
    parameters : sequence of numpy.ndarray
        The same at all points.
    known : numpy.ndarray (m, n), optional
        The values that the function has to have.

    Returns
    -------
    values : numpy.ndarray (m, n)
    pull : callable
        pull(cotangents (m, n)): gradients by y (m, n) and by each of the parameters, summed over the points; None
        where one is zero. It may be called any number of times.

    Raises
    ------
    NoForm
        If the function has no form for many points, or other values than `known`; `pull` may raise it as well.
    """
    m, n = y.shape
    given = [Columns(numpy.ascontiguousarray(y)), *[Columns(numpy.asarray(p)[None]) for p in parameters]]
    time = wrap_raw(Columns(numpy.ascontiguousarray(t)))

    def function(*arrays):
        return f(time, *arrays)

    function.differentiates = True
    try:
        trace = Trace("vjp", function, tuple(given), tuple(range(len(given)))).call()
        result = trace.outputs[0]
        value = raw(result)
    except Exception as error:  # whatever it is, the call point by point tells it
        raise NoForm from error
    if len(trace.outputs) != 1 or not isinstance(value, Columns) or value.shape != (n,):
        raise NoForm
    values = numpy.broadcast_to(value.values, (m, n))
    if known is not None and not _close(values, known):
        raise NoForm
    dtype = values.dtype

    def pull(cotangents):
        if not getattr(result, "requires_grad", False):
            return (None,) * len(trace.edges)
        if cotangents.dtype != dtype:
            cotangents = (cotangents if dtype.kind == "c" else cotangents.real).astype(dtype)
        try:
            found = trace.pull((0,), (Columns(cotangents),), create_graph=False, keep_graph=True)
        except Exception as error:
            raise NoForm from error
        by_y, *rest = [None if part is None else part.values for part in found]
        # A gradient that is the same at all points stands there once.
        return (by_y, *[
            None if part is None else part[0] * m if len(part) == 1 else part.sum(axis=0) for part in rest
        ])  # fmt: skip

    return values, pull


def _close(values, known):
    size = numpy.max(numpy.abs(known), axis=0, initial=0.0)
    return bool(numpy.all(numpy.abs(values - known) <= _CLOSE * size + 1e-300))
