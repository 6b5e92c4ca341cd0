"""NumPy's protocols on Tensors: `np.sin(t)`, `np.add(array, t)`, `np.sum(t, axis=0)` give recorded Tensors.

May import: ops, tensor, _bind, _numpy_functions, numpy.

`__array_ufunc__` serves every ufunc that a table entry names (`Entry.numpy`) and those of scipy.special that the table
has, `__array_function__` the functions of `_numpy_functions` and its neighbours. The work is done on the tensor's own
backend. Anything else raises TypeError with the way out: nothing is ever detached silently.
"""

import importlib

import numpy

from arraygrad._bind import function_for, to_tensor
from arraygrad.ops import OPS
from arraygrad.tensor import Tensor, backend_of, set_protocol_handlers, tensor

__all__ = ["array_function", "array_ufunc", "functions", "install", "numpy_name", "ufuncs"]

# ufunc -> (function over an axis) for its methods reduce and accumulate
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_ACCUMULATE = {"add": "cumulative_sum", "multiply": "cumulative_prod"}

# What a ufunc call may say without changing what is computed.
_HARMLESS = {
    "where": (True,),
    "casting": ("same_kind",),
    "order": ("K",),
    "dtype": (None,),
    "subok": (True,),
    "signature": (None,),
    "initial": (numpy._NoValue,),
}


# numpy ufunc -> function of Tensors, and numpy function -> function of Tensors with numpy's signature. Filled on first
# use, as importing arraygrad has no need of them; a lost race fills them twice with equal functions.
_ufuncs: dict = {}
_scipy_ufuncs: dict = {}  # filled when scipy.special has been imported, by whoever called it
_functions: dict = {}


def ufuncs():
    """dict numpy ufunc -> function of Tensors."""
    if not _ufuncs:
        found = {}
        for op in OPS.values():
            for name in op.entry.numpy:
                ufunc = getattr(numpy, name, None)
                if isinstance(ufunc, numpy.ufunc):
                    found.setdefault(ufunc, function_for(op, "arraygrad"))
        for name, function in importlib.import_module("arraygrad._numpy_functions").UFUNCS.items():
            found.setdefault(getattr(numpy, name), function)
        _ufuncs.update(found)
    return _ufuncs


def _ufunc(ufunc):
    """The function of Tensors that serves a ufunc of NumPy or of scipy.special, None if there is none."""
    function = ufuncs().get(ufunc)
    if function is None:
        if not _scipy_ufuncs:
            _scipy_ufuncs.update(importlib.import_module("arraygrad._numpy_beyond").scipy_ufuncs())
        function = _scipy_ufuncs.get(ufunc)
    return function


def functions():
    """dict numpy function -> function of Tensors with numpy's signature."""
    if not _functions:
        for name in ("_numpy_reductions", "_numpy_shapes", "_numpy_linalg", "_numpy_beyond"):
            importlib.import_module(f"arraygrad.{name}")
        _functions.update(importlib.import_module("arraygrad._numpy_functions").FUNCTIONS)
    return _functions


def array_ufunc(ufunc, method, inputs, kwargs):
    """Tensor.__array_ufunc__: run a NumPy ufunc, or one of its methods, on Tensors.

    Raises
    ------
    TypeError
        If the ufunc, its method or a keyword (where=, dtype=, ...) has no recorded counterpart, or if `out` is no
        Tensor, as in `array += tensor`.
    """
    out = _out(ufunc, kwargs.pop("out", None))
    if method == "__call__":
        function = _ufunc(ufunc)
        if function is None:
            raise _unsupported(_name(ufunc))
        _check_keywords(ufunc.__name__, kwargs)
        if any(isinstance(x, list | tuple) for x in inputs):
            backend = _backend(inputs)
            inputs = [to_tensor(x, backend) if isinstance(x, list | tuple) else x for x in inputs]
        result = function(*inputs)
    elif method == "reduce" and ufunc.__name__ in _REDUCE:
        result = _reduce(ufunc, *inputs, **kwargs)
    elif method == "accumulate" and ufunc.__name__ in _ACCUMULATE:
        result = _accumulate(ufunc, *inputs, **kwargs)
    elif method == "outer" and ufunc in ufuncs() and len(inputs) == 2:
        _check_keywords(f"{ufunc.__name__}.outer", kwargs)
        a, b = [to_tensor(x, _backend(inputs)) for x in inputs]
        result = ufuncs()[ufunc](a.reshape(a.shape + (1,) * b.ndim), b)
    elif method == "at":
        raise TypeError(
            f"numpy.{ufunc.__name__}.at writes in place in a way that is not recorded: use t[indices] = values where "
            "indices are unique, else a product with a one-hot matrix"
        )
    else:
        raise _unsupported(f"numpy.{ufunc.__name__}.{method}")
    if out is None:
        return result
    out[...] = result
    return out


def array_function(function, types, args, kwargs):
    """Tensor.__array_function__: run a NumPy function on Tensors.

    Raises
    ------
    TypeError
        If the function has no recorded counterpart, or is called with an argument that has none.
    """
    ours = functions().get(function)
    if ours is None:
        module = getattr(function, "__module__", None) or "numpy"
        raise _unsupported(f"{module}.{getattr(function, '__name__', function)}")
    return ours(*args, **kwargs)


def numpy_name(module, name):
    """What `arraygrad.numpy` shows of NumPy beyond the standard: `numpy.vstack`, `numpy.power`, `numpy.linalg.norm`.

    Raises
    ------
    AttributeError
        If NumPy has no such function, or none that is recorded.
    """
    if module == "arraygrad.numpy" and name == "array":
        return tensor
    owner = numpy
    for part in module.split(".")[2:]:
        owner = getattr(owner, part)
    theirs = getattr(owner, name, None) if not name.startswith("_") else None
    try:
        ours = ufuncs().get(theirs) or functions().get(theirs)
    except TypeError:  # not hashable, so no function
        ours = None
    if ours is None:
        hint = "" if theirs is None else f"; numpy.{name} is not recorded, call it on t.numpy() where that is meant"
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
    return ours


def install():
    """Hand the handlers to the core."""
    set_protocol_handlers(array_ufunc, array_function, _plain_ufuncs())


def _plain_ufuncs():
    """dict numpy ufunc -> Op, for operations that are exactly a call of the ufunc on one or two arrays."""
    return {
        getattr(numpy, name): op
        for op in OPS.values()
        if tuple(op.params) in (("x",), ("x1", "x2"))
        for name in op.entry.numpy
        if isinstance(getattr(numpy, name, None), numpy.ufunc)
    }


def _backend(inputs):
    """Backend of the Tensor among a ufunc's inputs (it may be in `out` alone: None then)."""
    for x in inputs:
        if isinstance(x, Tensor):
            return backend_of(x)
    return None


def _out(ufunc, out):
    """The Tensor that a ufunc call writes its result to, or None."""
    if out is None or (isinstance(out, tuple) and len(out) == 1 and out[0] is None):
        return None
    if isinstance(out, tuple):
        if len(out) > 1:
            raise TypeError(f"numpy.{ufunc.__name__}: out= with several results is not recorded; leave it out")
        out = out[0]
    if isinstance(out, Tensor):
        return out
    cls = type(out)
    raise TypeError(
        f"numpy.{ufunc.__name__}: a Tensor can't be written into {cls.__module__}.{cls.__qualname__}, whose memory "
        "holds no gradient: write x = x + t instead of x += t, or make x a Tensor first, x = arraygrad.asarray(x)"
    )


def _check_keywords(name, kwargs):
    for key, value in kwargs.items():
        harmless = _HARMLESS.get(key, ())
        if not any(value is h or (isinstance(h, str) and value == h) for h in harmless):
            advice = {
                "where": "choose with numpy.where(condition, result, otherwise)",
                "dtype": "cast the arguments with t.astype(dtype)",
            }.get(key, "leave it out")
            raise TypeError(f"numpy.{name}: {key}= is not supported for Tensors: {advice}")


def _reduce(ufunc, x, axis=0, dtype=None, keepdims=False, **kwargs):
    _check_keywords(f"{ufunc.__name__}.reduce", kwargs)
    name = _REDUCE[ufunc.__name__]
    if name in ("sum", "prod"):
        return getattr(x, name)(axis=axis, dtype=dtype, keepdims=keepdims)
    _check_keywords(f"{ufunc.__name__}.reduce", {"dtype": dtype})
    return getattr(x, name)(axis=axis, keepdims=keepdims)


def _accumulate(ufunc, x, axis=0, dtype=None):
    return function_for(OPS[_ACCUMULATE[ufunc.__name__]], __name__)(x, axis=axis, dtype=dtype)


def _name(ufunc):
    """numpy.sin or, for a ufunc that NumPy does not have, its own name."""
    owner = "numpy." if getattr(numpy, ufunc.__name__, None) is ufunc else "ufunc "
    return f"{owner}{ufunc.__name__}"


def _unsupported(name):
    return TypeError(
        f"{name} is not differentiated by arraygrad and was called with a Tensor: compose it from operations that are "
        "(docs/operations.md), or give it t.numpy(), which is detached: no gradient flows through it"
    )
