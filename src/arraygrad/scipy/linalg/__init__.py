"""scipy.linalg: equations, factorisations, matrix functions, matrix equations and matrices of a given form.

May import: scipy._declare and this folder, SciPy. Rules of factorisations are those of the table
(`ops._factorizations`), at SciPy's own signs; what reads one triangle of a matrix gets the gradient of that triangle.
"""

from scipy import linalg as _linalg

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.linalg import _banded, _equations, _everyday, _factors, _forms, _functions, _solve
from arraygrad.scipy.linalg._chapter import NAMES

globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _linalg)
