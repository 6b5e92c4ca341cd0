"""What stands in for functions of numpy.polynomial in adopted calls; the rest of it is plain code, recorded as it runs.

May import: adoption.exchange, adoption.table, autograd.python_numbers, core.tensor, numpy_api.functions, the
standard library.
"""

import functools
import importlib

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import stand_in
from arraygrad.autograd.python_numbers import refusal
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.functions import refuse_cut

__all__ = ["polynomial"]


@functools.cache
def polynomial():
    """The module numpy.polynomial, which NumPy imports when it is first used."""
    module = importlib.import_module("numpy.polynomial")
    stand_in(module.polyutils.trimseq, _trimseq(module.polyutils.trimseq))
    stand_in(module.polyutils.mapdomain, _mapdomain(module.polyutils.mapdomain, module.polyutils.mapparms))
    return module


def _mapdomain(real, mapparms):
    """Maps a polynomial by its own operators (`convert`, `cast`): NumPy makes an array of objects of it."""

    @functools.wraps(real)
    def mapdomain(x, old, new):
        if not is_on() or not isinstance(x, _polybase().ABCPolyBase):
            return real(x, old, new)
        off, scl = mapparms(old, new)
        return x * scl + off

    return mapdomain


def _polybase():
    return importlib.import_module("numpy.polynomial._polybase")


def _trimseq(real):
    """Refuses to cut coefficients that are zero now but require grad: the gradient would be lost with them."""

    @functools.wraps(real)
    def trimseq(seq):
        kept = real(seq)
        if is_on() and type(seq) is Tensor:
            try:
                refuse_cut(seq[len(kept) :], "numpy.polynomial")
            except TypeError as error:
                raise refusal(seq, error) from None  # the classes of numpy.polynomial put another in its place
        return kept

    return trimseq
