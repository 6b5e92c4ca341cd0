"""How a function of scipy.linalg is declared, and what its rules share.

May import: arraygrad, scipy._declare, numpy, SciPy. `core` says which core axes each argument has, and `each` that the
formula is for one matrix (scipy/_core.py): stacks are the same for all functions.
"""

import numpy as np
from scipy import linalg

import arraygrad as ag
from arraygrad.scipy._declare import Chapter, kind_of, raw

__all__ = ["NAMES", "adjoint", "by_composition", "by_rule", "constants", "is_complex", "no_rule", "reading", "shape_of"]

CHAPTER = Chapter("linalg", linalg)
NAMES = CHAPTER.names
by_rule, by_composition = CHAPTER.by_rule, CHAPTER.by_composition
constants, no_rule = CHAPTER.constants, CHAPTER.no_rule


def adjoint(a):
    """The conjugate transpose."""
    return ag.conj(ag.matrix_transpose(a)) if is_complex(a) else ag.matrix_transpose(a)


def is_complex(a):
    return kind_of(a) == "c"


def reading(a, lower):
    """The Hermitian matrix that is read from one triangle; of the diagonal the real part is read."""
    found = ag.tril(a) + adjoint(ag.tril(a, k=-1)) if lower else ag.triu(a) + adjoint(ag.triu(a, k=1))
    if not is_complex(a):
        return found
    own = np.eye(shape_of(a)[-1], dtype=bool)
    return ag.where(own, ag.astype(ag.real(a), raw(a).dtype), found)


def shape_of(a):
    return tuple(raw(a).shape)
