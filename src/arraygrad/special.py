"""Differentiable special functions under SciPy's names, on the backend of the arguments.

May import: _dispatch. `from arraygrad import special` in the place of `from scipy import special`: the smooth
functions of scipy.special, with its parameters in its order, on Tensors and on arrays of every library. Values come
from the array's own library (SciPy, cupyx.scipy.special, torch.special, jax.scipy.special). scipy.special's own ufuncs
given a Tensor do the same.
"""

from arraygrad import _dispatch

__all__: list[str] = []

_dispatch.fill(globals(), "special")
