"""CuPy's own functions on Tensors: what its protocol for overriding kernels asks of a type.

May import: ops, core.inplace, core.tensor, numpy_api.handlers, numpy, the standard library; arraygrad.scipy by its
name, as SciPy is optional. CuPy itself is never imported.

CuPy asks the arguments of its ufuncs and of user-made ElementwiseKernels for `__cupy_override_elementwise_kernel__`, so
`cupy.sin(t)` and `cupy.add(array, t)` give recorded Tensors on the tensor's own backend. Those of CuPy's functions that
call a method of their argument (`cupy.mean(t)`) run the Tensor's. The others know CuPy's arrays only, and say so.
"""

import importlib
import sys
import types

import numpy

from arraygrad.core.inplace import read_apart
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.numpy_api.handlers import array_ufunc
from arraygrad.ops import OPS

__all__ = ["interface", "override"]

_ROOM = "arraygrad.scipy"

# Kernels that are no ufuncs of NumPy's: CuPy's name -> our operations, the last one first.
_OURS = {"where": ("where",), "clip": ("clip",), "rsqrt": ("reciprocal", "sqrt")}


def override(kernel, args, kwargs):
    """Tensor.__cupy_override_elementwise_kernel__."""
    full = getattr(kernel, "name", type(kernel).__name__)
    name = full.removeprefix("cupy_")
    ufunc = getattr(numpy, name, None) if full.startswith("cupy_") and name not in _OURS else None
    if isinstance(ufunc, numpy.ufunc):
        if len(args) > ufunc.nin:
            kwargs["out"] = (*args[ufunc.nin :], *[None] * (ufunc.nin + ufunc.nout - len(args)))
            args = args[: ufunc.nin]
        elif kwargs.get("out") is not None and not isinstance(kwargs["out"], tuple):
            kwargs["out"] = (kwargs["out"],)
        if "_where" in kwargs:
            kwargs["where"] = kwargs.pop("_where")
        return array_ufunc(ufunc, "__call__", args, {k: v for k, v in kwargs.items() if v is not None})
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    nin = getattr(kernel, "nin", len(args))
    if len(args) == nin + 1 and getattr(kernel, "nout", 1) == 1 and "out" not in kwargs:
        kwargs["out"], args = args[nin], args[:nin]
    out = kwargs.get("out")
    if isinstance(out, Tensor) and getattr(kernel, "nout", 1) == 1:
        out[...] = _value(kernel, full, name, ufunc, read_apart(args, (out,)), {**kwargs, "out": None})
        return out
    return _value(kernel, full, name, ufunc, args, kwargs)


def _value(kernel, full, name, ufunc, args, kwargs):
    """The result of a kernel that is no ufunc of NumPy's."""
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    if hasattr(ufunc, "_implementation") and getattr(sys.modules["cupy"], name, None) is kernel and not kwargs:
        return ufunc(*args)  # a ufunc that is a function in NumPy: `fix`, `i0`, `sinc`
    special = [key for key, value in _special_names() if value is kernel]
    if special:
        ops = (next((key for key in special if key in OPS), ""),)
        scipys = None if ops[0] else _of_scipy(special)
        if scipys is not None:
            return scipys(*args, **kwargs)
    else:
        ops = _OURS.get(name, ("",)) if full.startswith("cupy_") else ("",)
    op = OPS.get(ops[0])
    if op is None or kwargs:
        raise TypeError(
            f"CuPy's kernel {full!r} knows raw arrays, and arraygrad has no derivative of it"
            + (f" with {', '.join(kwargs)}" if kwargs else "")
            + ": use a function of t.__array_namespace__() or NumPy's of the name that the program calls, which is "
            "recorded for Tensors over CuPy as well (numpy.percentile(t, 50)), make a function of raw arrays that "
            "calls the kernel differentiable by arraygrad.primitive or arraygrad.autograd.Function, or give t.array "
            "(not recorded)"
        )
    for inner in reversed(ops):
        args = (apply_op(OPS[inner], OPS[inner].bind(args, {})),)
    return args[0]


def _special_names():
    """Names and values of cupyx.scipy.special, where the program has loaded it."""
    return list(vars(sys.modules.get("cupyx.scipy.special", types.ModuleType("none"))).items())


def _of_scipy(names):
    """The function of arraygrad.scipy.special of one of some names; None where it or SciPy is missing."""
    try:
        special = importlib.import_module(f"{_ROOM}.special")
    except ImportError:
        return None
    return next((getattr(special, name) for name in names if hasattr(special, name)), None)


def interface(t):
    """Tensor.__cuda_array_interface__."""
    if t.requires_grad:
        raise AttributeError(
            "a Tensor that requires grad has no __cuda_array_interface__, through which its gradient would be lost: "
            "give t.detach() or t.array"
        )
    return t.array.__cuda_array_interface__
