"""scipy.stats: distributions whose densities, tails and quantiles are differentiable in every real argument.

May import: scipy._declare and this folder, SciPy. Begin with `_univariate.py`, then `_continuous.py`.
"""

from scipy import stats as _stats

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.stats import (
    _continuous,
    _discrete,
    _everyday,
    _further,
    _hypotheses,
    _kde,
    _laws,
    _multivariate,
    _results,
    _summaries,
)
from arraygrad.scipy.stats._functions import NAMES
from arraygrad.scipy.stats._univariate import OBJECTS

globals().update(OBJECTS)
globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _stats)
