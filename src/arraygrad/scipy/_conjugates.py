"""The conjugate of numbers that may be complex.

May import: arraygrad, scipy._guards.
"""

import arraygrad as ag
from arraygrad.scipy._guards import kind_of

__all__ = ["conj"]


def conj(a):
    """The conjugate: the factor of a gradient by an argument of a holomorphic function. Real numbers are themselves."""
    return ag.conj(a) if kind_of(a) == "c" else a
