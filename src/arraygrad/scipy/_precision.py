"""The precision that formulas run in: that of SciPy's result, where the arguments have less.

May import: core.containers, scipy._guards, numpy.
"""

import numpy

from arraygrad.core.containers import flatten, unflatten
from arraygrad.scipy._guards import raw

__all__ = ["as_precise", "as_precise_constant", "precision_of"]


def precision_of(value):
    """The bits of a number of `value`, an array of NumPy or a Tensor of one; 0 for all else."""
    value = raw(value)
    if isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind in "fc":
        return numpy.finfo(value.dtype).bits
    return 0


def as_precise(value, bits):
    """An argument with the precision of the results, where its own is lower.

    SciPy computes many functions in float64 whatever it is given. Formulas that ran in float32 then would leave its
    range where SciPy's value does not, and their gradients would be 0 or nan.
    """
    have = precision_of(value)
    if not have or have >= bits:
        return value
    real = {32: numpy.float32, 64: numpy.float64}.get(bits, numpy.longdouble)
    return value.astype(numpy.result_type(real, numpy.complex64) if value.dtype.kind == "c" else real)


def as_precise_constant(value, number, bits):
    """A constant argument as formulas take it: floats of at least `bits` bits, integers with room for differences.

    An unsigned difference wraps, and a logarithm of 8 bits has single digits. Truth values stay where they are masks.
    """
    if not isinstance(value, (numpy.ndarray, numpy.generic, list, tuple)):
        return value
    if isinstance(value, (list, tuple)):
        leaves, structure = flatten(value)
        return unflatten(structure, [as_precise_constant(leaf, number, bits) for leaf in leaves])
    if value.dtype.kind in "fc":
        return as_precise(value, bits)
    if value.dtype == numpy.int64 or value.dtype.kind not in ("iub" if number else "iu"):
        return value
    if value.dtype == numpy.uint64 and value.size and value.max() > numpy.iinfo(numpy.int64).max:
        return value.astype(numpy.float64)
    return value.astype(numpy.int64)
