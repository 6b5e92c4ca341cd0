"""scipy.interpolate: interpolants that are differentiable in the points and in the data.

May import: scipy._declare and this folder, SciPy. An interpolant of ours has SciPy's name and parameters; what it
computes is composed of recorded operations. Methods that have no rule are SciPy's, and refuse data that require grad.
"""

from scipy import interpolate as _interpolate

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.interpolate import _bsplines, _fitpack, _piecewise, _rational, _scattered, _splinework, _surfaces
from arraygrad.scipy.interpolate._chapter import NAMES

globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _interpolate)
