"""What rules and forward functions share; axes are counted in ops/_axes.py.

May import: nothing. Every function that takes `xp` uses nothing but the Array API standard, so that
it runs on raw arrays and on Tensors alike.
"""


def normalize_shape(shape):
    """`shape` (an int or a sequence of ints, NumPy's too) as a tuple of ints."""
    return (int(shape),) if getattr(shape, "ndim", 0) == 0 and hasattr(shape, "__index__") else tuple(map(int, shape))


def device_of(a):
    """The device of an array, None for a library whose arrays do not say."""
    return getattr(a, "device", None)


def is_complex(xp, dtype):
    """Whether `dtype` is a complex floating-point dtype."""
    return xp.isdtype(dtype, "complex floating")


def is_dask(x):
    """Whether looking at the values would compute them."""
    return _library(x) == "dask"


def is_on_device(x):
    """Whether looking at the values would wait for a device."""
    return _library(x) == "cupy"


def _library(x):
    return type(getattr(x, "array", x)).__module__.partition(".")[0]


def unrecorded(a):
    """The values of an array as constants, for what a rule looks at without depending on it."""
    return a.detach() if is_tensor(a) else a


def is_tensor(a):
    """Whether `a` is a Tensor, not an array of some library (of this package's own, of rows, neither)."""
    return type(a).__module__.partition(".")[0] == "arraygrad" and hasattr(a, "requires_grad")


def adjoint(xp, a):
    """Conjugate transpose of the matrices in `a`, shape (..., m, n)."""
    a = xp.matrix_transpose(a)
    return xp.conj(a) if is_complex(xp, a.dtype) else a


def eye_mask(xp, rows, columns, offset, like):
    """Boolean (rows, columns), true on the diagonal `offset`, on the device of `like`."""
    return xp.eye(rows, columns, k=offset, dtype=xp.bool, device=device_of(like))


def real_part(xp, a):
    """The real part of a complex array; a real array as it is."""
    return xp.real(a) if is_complex(xp, a.dtype) else a


def over_nonzero(xp, g, x):
    """g / x, and zero where x is: there the function has no direction."""
    zero = x == 0
    return xp.where(zero, 0.0, g / xp.where(zero, 1.0, x))


def at_kinks(xp, ordinary, g, x, ans, spread=None, *, square=True, straight=False):
    """The gradient `ordinary` of a norm; where `ans` is zero its derivatives are those of Note [Kinks].

    The note, and the parameters, are in namespaces/kinks.py. Only recorded rules have derivatives.
    """
    recorded = getattr(xp, "_at_kinks", None)
    if recorded is None:
        return ordinary
    return recorded(ordinary, g, x, ans, spread, square=square, straight=straight)
