"""Methods of sparse matrices that work in the arrays that the matrix holds, which the program may hold, too.

May import: arraygrad, numpy_api.overwritten, scipy._guards, scipy.sparse, numpy.
"""

import numpy as np

from arraygrad.numpy_api.overwritten import spend
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy.sparse._coordinates import with_values
from arraygrad.scipy.sparse._devices import library_in
from arraygrad.scipy.sparse._matrix_base import entries, matched

__all__ = ["claim", "in_place"]


def in_place(matrix, name):
    """`sort_indices`, `sum_duplicates` or `eliminate_zeros`: the values that stay are written to the front of `data`.

    SciPy's arrays are compacted where they are. What is behind the last value is what its loops left there.
    """
    plain = matrix._host
    before, data = plain.data.copy(), plain.data
    getattr(plain, name)()
    values, count = matrix._values, len(plain.data)
    made = matched(plain, *entries(matrix))
    if matrix.format in ("csr", "csc", "bsr") and library_in((matrix,)) is None:
        if (
            count == len(before)
            and np.array_equal(before, data, equal_nan=True)
            and np.array_equal(matrix._structure.indices, plain.indices)
        ):
            return
        if len(made._values) != count:
            raise NotDifferentiable(
                f"arraygrad.scipy.sparse: {name}() of a matrix that names elements twice writes into the memory of its "
                "values in an order that has no rule: use A = A.copy(); A.sum_duplicates()"
            )
        rest = made._rest
        # A matrix of its own memory is written, too: nobody can tell whether the program holds it.
        values[:count] = made._values
        if count < len(values):
            spend(values[count:], data[count:], f"scipy.sparse: {name}() left other numbers in the values than the "
                  "program had put there, which have no derivative: give the matrix a copy of them")  # fmt: skip
        shown = raw(values)
        base = shown.base if isinstance(shown.base, np.ndarray) else shown
        if shown[:count].size >= base.size // 2:  # else SciPy copies
            made._values = values if count == len(values) else values[:count]
            made._beside(rest)
    matrix._replace(made)


def claim(matrix, name, value):
    """Take what a program says of the order of the elements, `has_canonical_format = True`, where it is true.

    A false claim changes what SciPy's methods do: `sum_duplicates` leaves elements that are named twice.
    """
    matrix._settle()
    structure = with_values(matrix._structure, np.arange(1.0, matrix._structure.data.size + 1.0))
    ordered = structure.copy()
    ordered.sum_duplicates()
    sorts = name == "has_sorted_indices"
    twice = ordered.data.size < structure.data.size
    if sorts and twice:
        ordered = structure.copy()
        ordered.sort_indices()
    if value and (matrix._merged or not np.array_equal(structure.data, ordered.data)):
        way = "sort_indices()" if sorts and not twice else "A = A.copy(); A.sum_duplicates()"
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse: {name} = True of a matrix for which it is false, and whose values are a Tensor, "
            f"has no rule; use {way}"
        )
    structure = matrix._structure.copy()
    setattr(structure, name, bool(value))
    matrix._structure = structure
