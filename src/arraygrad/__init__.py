"""Reverse-mode automatic differentiation over NumPy, CuPy and Array-API arrays, with the engine of PyTorch's autograd.

Names only: each stands where it is defined. What backward, operators and NumPy's functions on Tensors need is imported
here; what a program asks for by its name is imported when it does (`_first_use.py`).
"""

from arraygrad import _interpreter  # first: refuses a subinterpreter before anything compiled is loaded

# isort: split
from arraygrad import _compiled  # next: where the compiled modules are

_compiled.install()

# isort: split
import numpy as _numpy

from arraygrad import autograd
from arraygrad._first_use import explain_imports as _explain_imports
from arraygrad._first_use import first_use as _first_use
from arraygrad.adoption.setting import set_room as _set_room
from arraygrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    zero_annihilates,
)
from arraygrad.backends import numpy as _numpy_backend  # registers itself
from arraygrad.core import saved_tensor as _saved_tensor
from arraygrad.core.adopted import set_teller as _set_teller
from arraygrad.core.constant_checks import set_constant_check
from arraygrad.core.constructors import asarray, tensor
from arraygrad.core.convert import set_number_guard as _set_number_guard
from arraygrad.core.nodes import set_handles as _set_handles
from arraygrad.core.protocols import set_protocol_handlers as _set_protocol_handlers
from arraygrad.core.tensor import Tensor, set_saved_mutation
from arraygrad.core.tensor import set_autograd as _set_autograd
from arraygrad.engine.node import keep_package_for_ever as _keep_for_ever
from arraygrad.namespaces import dispatch as _dispatch
from arraygrad.namespaces import namespace as _namespace
from arraygrad.namespaces.bind import NAMES as _NAMES
from arraygrad.namespaces.namespace import namespace
from arraygrad.numpy_api import handlers as _handlers
from arraygrad.numpy_api import methods as _methods

_namespace.install()
_methods.install()
_set_protocol_handlers(Tensor, _handlers.handlers, _numpy.ndarray, _numpy.generic)
_set_autograd(autograd)
_set_number_guard("arraygrad.autograd.python_numbers")
_set_teller("arraygrad.adoption.unadopted")
_set_room("arraygrad.adoption.calls")
_set_handles(_saved_tensor)
_keep_for_ever(__name__)
_explain_imports()

# Imported on first use: submodules, and names out of others. The standard's functions, constants and dtypes are made
# then.
_SUBMODULES = (
    "array_api_strict", "cupy", "dask", "fft", "implicit", "interop", "jax", "linalg", "memory", "numpy", "scipy",
    "special", "testing", "torch", "typing",
)  # fmt: skip
_ELSEWHERE = {
    "_version": ("__version__",),
    "adoption.calls": ("adopt",),
    "adoption.setting": ("set_adoption",),
    "autograd.checkpointing": ("checkpoint",),
    "autograd.primitive": ("defvjp", "primitive"),
    "autograd.python_numbers": ("number_policy", "set_number_policy", "stop_gradient"),
    "autograd.threads": ("get_num_threads", "set_num_threads"),
    "interop.transfer": ("to_backend",),
    "testing": ("gradcheck", "gradgradcheck"),
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
        "ravel_tree",
        "register_container",
        "tree_flatten",
        "tree_leaves",
        "tree_map",
        "tree_unflatten",
        "value_and_grad",
        "vjp",
    ),
}
_LAZY = {name: f"arraygrad.{module}" for module, names in _ELSEWHERE.items() for name in names}

__all__ = [
    "Tensor", "asarray", "autograd", "enable_grad", "fft", "implicit", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "linalg", "namespace", "no_grad", "set_constant_check",
    "set_grad_enabled", "set_saved_mutation", "special", "tensor", "zero_annihilates",
]  # fmt: skip
__all__.extend(_LAZY)
__all__.extend(sorted(_NAMES))

__getattr__, __dir__ = _first_use(globals(), _LAZY, _SUBMODULES, _NAMES, _dispatch.top_level)
