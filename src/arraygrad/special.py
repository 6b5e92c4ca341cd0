"""Differentiable special functions under SciPy's names, on the backend of the arguments.

May import: ops, namespaces.bind, dispatch. `from arraygrad import special` in the place of `from scipy import special`:
the smooth functions of scipy.special, with its parameters in its order, on Tensors and on arrays of every library.
Values come from the array's own library (SciPy, cupyx.scipy.special, torch.special, jax.scipy.special). scipy.special's
own ufuncs given a Tensor do the same.
"""

from arraygrad.namespaces import dispatch
from arraygrad.namespaces.bind import function_for
from arraygrad.ops import OPS

__all__: list[str] = []

dispatch.fill(globals(), "special")

_softmax = function_for(OPS["softmax"], "arraygrad")
_log_softmax = function_for(OPS["log_softmax"], "arraygrad")

# SciPy's other names of the same functions.
psi = digamma  # noqa: F821 (filled from the table)
jn = jv  # noqa: F821


def softmax(x, axis=None):
    """exp(x) / sum(exp(x)) over `axis`: None for all elements, as in SciPy, an int or a tuple.

    `arraygrad.softmax` is the same with the last axis as default.
    """
    return _softmax(x, axis=axis)


def log_softmax(x, axis=None):
    """log(softmax(x)) over `axis`: None for all elements, as in SciPy, an int or a tuple.

    `arraygrad.log_softmax` is the same with the last axis as default.
    """
    return _log_softmax(x, axis=axis)


__all__ += ["jn", "log_softmax", "psi", "softmax"]
__all__.sort()
