"""scipy.optimize: solutions by SciPy's solvers, gradients by the implicit function theorem.

May import: scipy._declare and this folder, SciPy. What the function depends on is handed over as `args`; Tensors in its
closure are found. `arraygrad.implicit` is the same without SciPy's own calls.
"""

from scipy import optimize as _optimize

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.optimize import _linear, _minima, _roots, elementwise
from arraygrad.scipy.optimize._chapter import NAMES
from arraygrad.scipy.optimize._constrained import CLASSES as OBJECTS  # what stands in for classes in adopted calls

__all__ = ["elementwise"]

globals().update(NAMES)
globals().update(OBJECTS)

__getattr__, __dir__ = _mirror(globals(), _optimize)
