"""What serves NumPy's functions and ufuncs on Tensors, gathered from the modules that define it.

May import: _numpy_*.
"""

from arraygrad import (
    _numpy_calculus,
    _numpy_constants,
    _numpy_linalg,
    _numpy_nan,
    _numpy_order,
    _numpy_pieces,
    _numpy_polynomials,
    _numpy_reductions,
    _numpy_select,
    _numpy_shapes,
)
from arraygrad.numpy_api.arrays import ARRAYS
from arraygrad.numpy_api.beyond import scipy_ufuncs
from arraygrad.numpy_api.functions import FUNCTIONS
from arraygrad.numpy_api.ufuncs import METHODS, UFUNCS, call

__all__ = ["ARRAYS", "FUNCTIONS", "METHODS", "MODULES", "UFUNCS", "call", "scipy_ufuncs"]

# These fill FUNCTIONS when they are imported.
MODULES = (
    _numpy_calculus,
    _numpy_constants,
    _numpy_linalg,
    _numpy_nan,
    _numpy_order,
    _numpy_pieces,
    _numpy_polynomials,
    _numpy_reductions,
    _numpy_select,
    _numpy_shapes,
)
