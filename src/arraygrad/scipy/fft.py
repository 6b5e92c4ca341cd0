"""scipy.fft: no function is declared yet.

May import: scipy._declare, SciPy.
"""

from scipy import fft as _fft

from arraygrad.scipy._declare import mirror as _mirror

__getattr__, __dir__ = _mirror(globals(), _fft)
