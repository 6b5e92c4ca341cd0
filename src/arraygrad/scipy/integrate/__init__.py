"""scipy.integrate: integrals by Leibniz' rule, sums of samples, and initial value problems by the adjoint.

May import: scipy._declare and this folder, SciPy.
"""

from scipy import integrate as _integrate

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.integrate import _boxes, _equations, _functions, _samples, _sums
from arraygrad.scipy.integrate._chapter import NAMES

globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _integrate)
