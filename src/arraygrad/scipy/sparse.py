"""scipy.sparse: no function is declared yet.

May import: scipy._declare, SciPy.
"""

from scipy import sparse as _sparse

from arraygrad.scipy._declare import mirror as _mirror

__getattr__, __dir__ = _mirror(globals(), _sparse)
