"""scipy.signal: convolutions, filters, resampling and spectra, in the signals and in the filters' coefficients.

May import: scipy._declare and this folder, SciPy.
"""

from scipy import signal as _signal

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.signal import (
    _conversions,
    _convolutions,
    _designs,
    _filters,
    _resampling,
    _spectra,
    _splines,
    _systems,
    _transforms,
    _transposed,
    _waveforms,
    windows,
)
from arraygrad.scipy.signal._chapter import NAMES

__all__ = ["windows"]

globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _signal)
