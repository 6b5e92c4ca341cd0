"""Reverse-mode automatic differentiation over NumPy, CuPy and Array-API arrays, with the engine of PyTorch's autograd.

Names only: each stands where it is defined. Namespaces and interfaces are imported when they are first used.
"""

import gc as _gc
import sys as _sys

from arraygrad import _interpreter  # first: refuses a subinterpreter before anything compiled is loaded

# isort: split
from arraygrad import _compiled  # next: where the compiled modules are

_compiled.install()

# isort: split
# What an import makes stays: the collector would look through all of it again and again, a fifth of the time.
_collecting = _gc.isenabled()
_gc.disable()
try:
    import numpy as _numpy

    from arraygrad import _later
    from arraygrad.autograd.grad_mode import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
        zero_annihilates,
    )
    from arraygrad.core.constants import set_constant_check
    from arraygrad.core.convert import set_number_guard as _set_number_guard
    from arraygrad.core.nodes import set_handles as _set_handles
    from arraygrad.core.protocols import set_protocol_handlers as _set_protocol_handlers
    from arraygrad.core.tensor import Tensor, asarray, set_saved_mutation, tensor
    from arraygrad.core.tensor import set_autograd as _set_autograd
    from arraygrad.engine.node import keep_package_for_ever as _keep_for_ever
    from arraygrad.namespaces import namespace as _namespace
    from arraygrad.namespaces.bind import NAMES as _NAMES
    from arraygrad.namespaces.namespace import namespace
    from arraygrad.numpy_api import methods as _methods

    _namespace.install()
    _methods.install()
    # Most programs need these, but a plain `backward()` is served without them.
    _protocols, _autograd = _later.later("arraygrad.numpy_api.handlers"), _later.later("arraygrad.autograd")
    _set_protocol_handlers(Tensor, lambda: _protocols.handlers(), _numpy.ndarray, _numpy.generic)
    _set_autograd(_autograd)
    _set_number_guard(_later.later("arraygrad.transforms.python_numbers"))
    _set_handles(_later.later("arraygrad.core.saved_handles"))
    _keep_for_ever(__name__)
finally:
    if _collecting:
        # All objects move to the oldest generation, as those do that collections find in use, but without a look at
        # them. (Free-threaded Python has no generations, and would look at every object to freeze it.)
        if getattr(_sys, "_is_gil_enabled", lambda: True)() and _gc.get_freeze_count() == 0:
            _gc.freeze()
            _gc.unfreeze()
        _gc.enable()

# Submodules that stand in the package's face, and names out of others: all imported on first use.
_SUBMODULES = (
    "array_api_strict", "autograd", "cupy", "dask", "fft", "implicit", "interop", "jax", "linalg", "memory", "numpy",
    "special",
    "torch",
)  # fmt: skip
_ELSEWHERE = {
    "_version": ("__version__",),
    "autograd.checkpointing": ("checkpoint",),
    "transforms": (
        "elementwise_grad",
        "grad",
        "hessian",
        "hvp",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jvp",
        "linearize",
        "value_and_grad",
        "vjp",
    ),
    "autograd.primitive": ("defvjp", "primitive"),
    "transforms.python_numbers": ("number_policy", "set_number_policy", "stop_gradient"),
    "testing": ("gradcheck", "gradgradcheck"),
    "autograd.threads": ("get_num_threads", "set_num_threads"),
    "interop.transfer": ("to_backend",),
}
_LAZY = {name: module for module, names in _ELSEWHERE.items() for name in names}

__all__ = [
    "Tensor", "asarray", "autograd", "enable_grad", "fft", "implicit", "inference_mode",
    "is_grad_enabled", "is_inference_mode_enabled", "linalg", "namespace", "no_grad", "set_constant_check",
    "set_grad_enabled", "set_saved_mutation", "special", "tensor", "zero_annihilates",
]  # fmt: skip
__all__.extend(_LAZY)
__all__.extend(sorted(_NAMES))


def __getattr__(name):
    if name in _NAMES:
        # All at once, on the first use of one: importing arraygrad should cost little.
        with _later.Importing():
            globals().update(_later.import_module("arraygrad.namespaces.dispatch").top_level())
        return globals()[name]
    if name in _LAZY:
        value = getattr(_later.import_module(f"arraygrad.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        try:
            return _later.import_module(f"arraygrad.{name}")
        except ImportError as error:  # hasattr, help and inspect take no other error for an answer
            raise AttributeError(f"module 'arraygrad' has no attribute {name!r}: {error}") from error
    raise AttributeError(f"module 'arraygrad' has no attribute {name!r}")


def __dir__():
    return sorted({*__all__, *_SUBMODULES})
