"""CuPy's own functions on Tensors: what its protocol for overriding kernels asks of a type.

May import: ops, core.tensor, numpy_api.handlers, numpy. CuPy itself is never imported.

CuPy asks the arguments of its ufuncs and of user-made ElementwiseKernels for `__cupy_override_elementwise_kernel__`, so
`cupy.sin(t)` and `cupy.add(array, t)` give recorded Tensors on the tensor's own backend. Those of CuPy's functions that
call a method of their argument (`cupy.mean(t)`) run the Tensor's. The others know CuPy's arrays only, and say so.
"""

import numpy

from arraygrad.core.tensor import apply_op
from arraygrad.numpy_api.handlers import array_ufunc
from arraygrad.ops import OPS

__all__ = ["interface", "override"]

_SPECIAL = "cupyx_scipy_special_"

# Kernels that are no ufuncs of NumPy's: CuPy's name -> ours.
_OURS = {"where": "where", "clip": "clip"}


def override(kernel, args, kwargs):
    """Tensor.__cupy_override_elementwise_kernel__."""
    full = getattr(kernel, "name", type(kernel).__name__)
    name = full.removeprefix("cupy_")
    ufunc = getattr(numpy, name, None) if full.startswith("cupy_") else None
    if isinstance(ufunc, numpy.ufunc):
        if len(args) > ufunc.nin:
            kwargs["out"] = args[ufunc.nin :]
            args = args[: ufunc.nin]
        elif kwargs.get("out") is not None and not isinstance(kwargs["out"], tuple):
            kwargs["out"] = (kwargs["out"],)
        if "_where" in kwargs:
            kwargs["where"] = kwargs.pop("_where")
        return array_ufunc(ufunc, "__call__", args, {k: v for k, v in kwargs.items() if v is not None})
    if full.startswith(_SPECIAL):
        op = OPS.get(full.removeprefix(_SPECIAL))
    else:
        op = OPS.get(_OURS.get(name, "")) if full.startswith("cupy_") else None
    if op is None or kwargs:
        raise TypeError(
            f"CuPy's kernel {full!r} knows raw arrays, and arraygrad has no derivative of it"
            + (f" with {', '.join(kwargs)}" if op is not None else "")
            + ": use a function of t.__array_namespace__(), make a function of raw arrays that calls the kernel "
            "differentiable by arraygrad.primitive or arraygrad.autograd.Function, or give t.array (not recorded)"
        )
    return apply_op(op, op.bind(args, {}))


def interface(t):
    """Tensor.__cuda_array_interface__."""
    if t.requires_grad:
        raise AttributeError(
            "a Tensor that requires grad has no __cuda_array_interface__, through which its gradient would be lost: "
            "give t.detach() or t.array"
        )
    return t.array.__cuda_array_interface__
