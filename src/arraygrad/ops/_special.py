"""Where the values of special functions come from: the array's own library, by name, imported on first use.

May import: ops._special_fallbacks, and by name, when a function is first called: scipy.special (NumPy, Dask, and
any library that shares host memory), cupyx.scipy.special, torch.special, jax.scipy.special.

A function that a library lacks is composed of others (`_special_fallbacks`); where that would not be accurate, calling
it raises TypeError. Results have the floating-point dtype of the array arguments: Python scalars never widen them.
"""

import functools
import importlib
import math

from arraygrad.ops._special_fallbacks import FALLBACKS

# Root module of an array's type -> module of special functions.
_MODULES = {
    "numpy": "scipy.special",
    "dask": "scipy.special",  # its functions are ufuncs, which Dask serves
    "cupy": "cupyx.scipy.special",
    "torch": "torch.special",
    "jax": "jax.scipy.special",
}

# Names that differ from SciPy's; None: the library's own is not used (jax's bessel_jn has another signature, and Dask
# serves ufuncs only).
_NAMES = {
    "torch": {
        "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "k0": "modified_bessel_k0",
        "k1": "modified_bessel_k1", "k0e": "scaled_modified_bessel_k0", "k1e": "scaled_modified_bessel_k1",
    },
    "dask": {"polygamma": None, "sinc": None},
    "numpy": {"sinc": None},  # scipy.special.sinc is numpy.sinc, whose formula the fallback has without SciPy
}  # fmt: skip

# Functions of an order, which the fallbacks look at.
_BESSEL = frozenset(("jv", "yv", "iv", "ive", "kn", "kv", "kve", "yn"))

# Functions that take complex arrays, where the library does: their rules are the formulas of a holomorphic function.
_COMPLEX = frozenset(
    ("erf", "erfc", "erfi", "exp1", "expi", "gamma", "loggamma", "digamma", "jv", "yv", "iv", "kv", "sinc")
)


# name -> (the ufunc of SciPy, the classes of arrays and of numbers of NumPy, which rules make of 0-d arrays), for
# those that NumPy's arrays were computed by.
_ufuncs: dict = {}


def compute(xp, name, *args):
    """The special function `name` of one or more arrays or Python scalars."""
    known = _ufuncs.get(name)
    if known is not None and _plain(known[1], args):
        result = known[0](*args)
        return result if result.dtype == args[0].dtype else _cast(xp, result, args[0].dtype)
    if name in _BESSEL and isinstance(args[0], int | float) and hasattr(args[1], "dtype"):
        if _function(_root(args[1:]), name) is FALLBACKS.get(name):
            return compute_of_order(xp, name, *args)  # an order that is looked at need not go to a device
    args, dtype = _operands(xp, name, args)
    return _cast(xp, _function(_root(args), name)(xp, *args), dtype)


def compute_of_order(xp, name, n, x):
    """A function whose first parameter, an order, reaches the library as it is."""
    zeta = _ufuncs.get("zeta") if name == "polygamma" and n > 0 else None
    if zeta is not None and type(x) in zeta[1] and x.dtype.char == "d":
        # What SciPy's function does, without the arrays that it makes of n.
        return (math.gamma(n + 1.0) if n % 2 else -math.gamma(n + 1.0)) * zeta[0](n + 1.0, x)
    (x,), dtype = _operands(xp, name, (x,))
    root = _root((x,))
    if name == "polygamma" and root == "numpy":
        _function(root, "zeta")
    return _cast(xp, _function(root, name)(xp, n, x), dtype)


def _plain(classes, args):
    """Whether all are NumPy's own arrays of one dtype, float32 or float64: nothing is to be looked at or converted."""
    first = args[0]
    if type(first) not in classes or first.dtype.char not in "fd":
        return False
    return len(args) == 1 or all(type(x) in classes and x.dtype == first.dtype for x in args)


def _operands(xp, name, args):
    """(the arguments, Python scalars made arrays of the arrays' floating-point dtype; that dtype or None)."""
    arrays = [arg for arg in args if hasattr(arg, "dtype") and hasattr(arg, "ndim")]
    for arg in args:
        if isinstance(arg, list | tuple):  # the public functions make arrays of lists where there is a derivative
            raise TypeError(f"arraygrad.special.{name}: expected a number or an array as parameter, got {arg!r}")
    if name not in _COMPLEX and any(isinstance(a, complex) or _is_complex(xp, a) for a in args):
        raise TypeError(
            f"arraygrad.special.{name}: expected real arrays, got a complex one; its derivative here is that of a "
            "function of a real argument"
        )
    if not arrays:
        args = [xp.asarray(arg) for arg in args]
        return args, None
    real = [a for a in arrays if xp.isdtype(a.dtype, "real floating")]
    known = len(real) == len(arrays)
    dtype = None if not known else real[0].dtype if len(real) == 1 else xp.result_type(*real)
    if len(arrays) < len(args):
        device = getattr(arrays[0], "device", None)
        args = [arg if any(arg is a for a in arrays) else xp.asarray(arg, dtype=dtype, device=device) for arg in args]
    return args, dtype


def _is_complex(xp, a):
    return hasattr(a, "dtype") and xp.isdtype(a.dtype, "complex floating")


def _cast(xp, result, dtype):
    if dtype is None or result.dtype == dtype or not xp.isdtype(result.dtype, "real floating"):
        return result
    return xp.astype(xp.asarray(result), dtype)


def _root(arrays):
    """The library of some arrays, by the root module of the first one's type."""
    root = type(arrays[0]).__module__.partition(".")[0]
    return "jax" if root == "jaxlib" else root


@functools.cache
def _function(library, name):
    """function(xp, *arrays) that computes `name` for arrays of `library`."""
    module = _MODULES.get(library)
    if module is None:
        return _through_host(library, name)
    own = _NAMES.get(library, {}).get(name, name)
    try:
        found = None if own is None else getattr(importlib.import_module(module), own, None)
    except ImportError as error:
        if name not in FALLBACKS:
            raise _no_scipy(library, name) from error
        found = None
    if found is not None and (library, name) == ("cupy", "polygamma"):
        return lambda xp, n, x: found(xp.asarray(n), x)  # CuPy's takes no Python int as order
    if found is not None:
        if library == "numpy":
            numpy = importlib.import_module("numpy")
            if isinstance(found, numpy.ufunc):
                _ufuncs[name] = found, (numpy.ndarray, numpy.float64, numpy.float32)
        return lambda xp, *args: found(*args)
    if name in FALLBACKS:
        return FALLBACKS[name]
    raise TypeError(
        f"arraygrad.special.{name}: {module} has no {name}, and arraygrad has no accurate formula for it: convert the "
        "array to another library, e.g. NumPy, first"
    )


def _no_scipy(library, name):
    return ImportError(
        f"arraygrad.special.{name}: arrays of {library} are computed by SciPy, which is not installed: "
        "pip install 'arraygrad[scipy]'"
    )


def _through_host(library, name):
    """SciPy's function on arrays of a library without special functions of its own, which must share host memory."""
    numpy = importlib.import_module("numpy")
    try:
        found = getattr(importlib.import_module("scipy.special"), name)
    except ImportError as error:
        raise _no_scipy(library, name) from error

    def compute(xp, *args):
        on_host, device = [], None
        for arg in args:
            if hasattr(arg, "__dlpack__"):
                device = getattr(arg, "device", None)
                on_host.append(_host(numpy, library, name, arg))
            else:
                on_host.append(arg)
        return xp.asarray(numpy.asarray(found(*on_host)), device=device)

    return compute


def _host(numpy, library, name, array):
    try:
        return numpy.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"arraygrad.special.{name}: {library} has no special functions that arraygrad knows, and its array on "
            f"device {getattr(array, 'device', None)} is not in the host's memory, where SciPy could compute it: move "
            "it there first"
        ) from error
