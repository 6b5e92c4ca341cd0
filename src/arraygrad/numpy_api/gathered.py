"""What serves NumPy's functions and ufuncs on Tensors, gathered from the modules that define it.

May import: the modules of this room, numpy.
"""

import numpy

from arraygrad.numpy_api import (
    calculus,
    constants,
    indexing,
    linalg,
    nan,
    polynomials,
    rearranging,
    reductions,
    scimath,
    shapes,
    statistics,
)
from arraygrad.numpy_api.arrays import ARRAYS, numpys_own
from arraygrad.numpy_api.beyond import scipy_operations, scipy_ufuncs
from arraygrad.numpy_api.functions import FUNCTIONS, VALUED
from arraygrad.numpy_api.overwritten import minding_overwriting
from arraygrad.numpy_api.primitives import fft_functions, functions, scipy_functions
from arraygrad.numpy_api.ufuncs import METHODS, UFUNCS, call, over_axes

__all__ = [
    "ARRAYS", "FUNCTIONS", "METHODS", "MODULES", "UFUNCS", "VALUED", "call", "fft_functions", "functions",
    "numpys_own", "over_axes", "scipy_functions", "scipy_operations", "scipy_ufuncs",
]  # fmt: skip

# These fill FUNCTIONS when they are imported.
MODULES = (
    calculus,
    constants,
    linalg,
    nan,
    statistics,
    rearranging,
    polynomials,
    reductions,
    indexing,
    shapes,
    scimath,
)

for _function in (
    numpy.median, numpy.nanmedian, numpy.quantile, numpy.nanquantile, numpy.percentile, numpy.nanpercentile
):  # fmt: skip
    FUNCTIONS[_function] = minding_overwriting(f"numpy.{_function.__name__}", FUNCTIONS[_function], _function, True)
