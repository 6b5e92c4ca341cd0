"""scipy.signal.windows: windows, in the parameters that shape them.

May import: scipy._declare, scipy.signal._waveforms, SciPy.
"""

from scipy.signal import windows as _windows

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.signal._waveforms import WINDOWS

globals().update(WINDOWS)

__getattr__, __dir__ = _mirror(globals(), _windows)
