"""scipy.special: the functions of `arraygrad.special`, and those whose formulas stand in this folder.

May import: arraygrad, scipy._declare and this folder, SciPy. `arraygrad.special` serves every library; what is added
here is computed by SciPy: `_elementary.py`, `_distributions.py` (with their shape parameters), `_bessel.py`,
`_orthogonal.py`.
"""

from scipy import special as _special

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.special import _bessel, _counted, _distributions, _elementary, _inverses, _orthogonal, _waves
from arraygrad.scipy.special._chapter import NAMES, as_ufuncs

as_ufuncs()
globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _special)
