"""What stands in for functions of numpy.polynomial in adopted calls; the rest of it is plain code, recorded as it runs.

May import: adoption.exchange, adoption.table, autograd.python_numbers, core.tensor, numpy_api.functions, NumPy,
the standard library.
"""

import functools
import importlib

import numpy

from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.table import stand_in
from arraygrad.autograd.python_numbers import refusal
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.functions import host, refuse_cut

__all__ = ["polynomial"]

MULTIPLICATIONS = {
    "polynomial": "polymul", "chebyshev": "chebmul", "legendre": "legmul", "laguerre": "lagmul", "hermite": "hermmul",
    "hermite_e": "hermemul",
}  # fmt: skip


@functools.cache
def polynomial():
    """The module numpy.polynomial, which NumPy imports when it is first used."""
    module = importlib.import_module("numpy.polynomial")
    stand_in(module.polyutils.trimseq, _trimseq(module.polyutils.trimseq))
    stand_in(module.polyutils.trimcoef, _trimcoef(module.polyutils.trimcoef, module.polyutils.as_series))
    stand_in(module.polyutils.mapdomain, _mapdomain(module.polyutils.mapdomain, module.polyutils.mapparms))
    for basis, name in MULTIPLICATIONS.items():
        real = getattr(getattr(module, basis), name)
        stand_in(real, _product(real, module.polyutils.as_series))
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


def _product(real, as_series):
    """Multiplies by a constant series by what its products with the basis are, a linear map of the recorded one.

    NumPy's own recursion multiplies by each of the constant's coefficients, and cuts off the zeros that it gets of
    those that are zero.
    """

    @functools.wraps(real)
    def product(c1, c2):
        if not is_on() or _is_recorded(c1) == _is_recorded(c2):
            return real(c1, c2)
        kept, constant = (c1, c2) if _is_recorded(c1) else (c2, c1)
        kept, constant = as_series([kept])[0], as_series([host(constant) if type(constant) is Tensor else constant])[0]
        if not numpy.isfinite(host(kept)).all():
            return real(c1, c2)
        if not constant.any():
            return numpy.zeros(1, numpy.result_type(host(kept), constant))
        rows = numpy.zeros((len(kept), len(kept) + len(constant) - 1), constant.dtype)
        for i in range(len(kept)):
            row = real(numpy.eye(len(kept))[i], constant)
            rows[i, : len(row)] = row
        return as_series([kept @ rows])[0]

    return product


def _is_recorded(series):
    """Whether a series, or one of the numbers in its list, requires grad."""
    if type(series) in (list, tuple):
        return any(map(_is_recorded, series))
    return type(series) is Tensor and series.requires_grad


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


def _trimcoef(real, as_series):
    """Keeps the one coefficient of a series that is zero, which NumPy multiplies by zero: its slope would be lost."""

    @functools.wraps(real)
    def trimcoef(c, tol=0):
        found = real(c, tol)
        if not is_on() or tol != 0 or not _is_recorded(c):
            return found
        [kept] = as_series([c])
        return kept[: len(found)].copy()

    return trimcoef
