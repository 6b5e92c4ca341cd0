"""scipy.ndimage: filters, interpolation and measurements of images, in the image and in their parameters.

May import: scipy._declare and this folder, SciPy.
"""

from scipy import ndimage as _ndimage

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.ndimage import _called, _filters, _interpolation, _measurements, _transposed
from arraygrad.scipy.ndimage._chapter import NAMES

globals().update(NAMES)

__getattr__, __dir__ = _mirror(globals(), _ndimage)
