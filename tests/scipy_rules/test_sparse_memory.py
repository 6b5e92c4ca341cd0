"""Sparse matrices that share the memory of their values with the program, and methods that work in it."""

import warnings

import numpy as np
import pytest
from plain_differences import differences

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import sparse

import arraygrad as ag

X = np.array([1.0, 2.0, 0.7, 1.4, 0.3, 2.2])

# What -> make a matrix of six values.
MATRICES = {
    "csr, unsorted": lambda y: sparse.csr_array((y, [2, 0, 1, 2, 1, 0], [0, 3, 6]), shape=(2, 3)),
    "csr, named twice": lambda y: sparse.csr_array((y, [2, 0, 2, 1, 1, 0], [0, 3, 6]), shape=(2, 3)),
    "csr, sorted": lambda y: sparse.csr_array((y, [0, 1, 2, 0, 1, 2], [0, 3, 6]), shape=(2, 3)),
    "csr, all in one": lambda y: sparse.csr_array((y, [0, 0, 0, 0, 0, 0], [0, 6]), shape=(1, 2)),
    "csr, of a view": lambda y: sparse.csr_array((y[1:5], [1, 0, 1, 0], [0, 2, 4]), shape=(2, 2)),
    "csc, unsorted": lambda y: sparse.csc_matrix((y, [2, 0, 1, 2, 1, 0], [0, 3, 6]), shape=(3, 2)),
    "csc, named twice": lambda y: sparse.csc_array((y, [2, 0, 2, 1, 1, 0], [0, 3, 6]), shape=(3, 2)),
    "coo, named twice": lambda y: sparse.coo_array((y, ([0, 0, 1, 1, 0, 0], [0, 1, 1, 0, 1, 0])), shape=(2, 2)),
    "bsr, unsorted": lambda y: sparse.bsr_array((y.reshape(3, 1, 2), [1, 0, 0], [0, 2, 3]), shape=(2, 4)),
    "bsr, named twice": lambda y: sparse.bsr_array((y.reshape(3, 1, 2), [1, 1, 0], [0, 2, 3]), shape=(2, 4)),
    "dia": lambda y: sparse.dia_array((y.reshape(2, 3), [0, 1]), shape=(3, 3)),
}
ROWS = ("csr", "csc", "bsr")
METHODS = {
    "sort_indices": lambda A: A.sort_indices() if A.format in ROWS else None,
    "sum_duplicates": lambda A: A.sum_duplicates() if A.format != "dia" else None,
    "eliminate_zeros": lambda A: A.eliminate_zeros() if A.format != "dia" else None,
    "both": lambda A: (A.sort_indices(), A.sum_duplicates()) if A.format in ROWS else None,
    "prune": lambda A: A.prune() if A.format in ROWS else None,
    "scaled": lambda A: A.__imul__(2.0),
    "divided": lambda A: A.__itruediv__(3.0),
    "data": lambda A: A.data.__imul__(1.5),
}


def weighed(a):
    a = np.asarray(a)
    return (np.sin(a) * np.arange(1, 1 + a.size).reshape(a.shape)).sum()


def values_read(y, A, x, method):
    method(A)
    return weighed(y)


def matrix_read(y, A, x, method):
    method(A)
    return weighed(A.toarray())


def data_read(y, A, x, method):
    method(A)
    return weighed(A.data)


def values_written(y, A, x, method):
    method(A)
    y[0] = x[1] * x[2]
    y[3] *= 2.0
    return weighed(A.toarray())


def matrix_written(y, A, x, method):
    method(A)
    A.data[...] *= 0.5
    return weighed(y[:2]) + weighed(A.toarray())


@pytest.mark.parametrize("program", [values_read, matrix_read, data_read, values_written, matrix_written])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", MATRICES)
def test_what_a_method_leaves_in_shared_memory(what, method, program):
    def f(x):
        y = x * 1.0
        return program(y, MATRICES[what](y), x, METHODS[method])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = ""
        try:
            value, gradient = ag.value_and_grad(f, adopt=True)(X.copy())
        except (TypeError, RuntimeError) as error:
            refusal = str(error)
        if "scipy.sparse: " in refusal and (program is not matrix_read or "named twice" in what):
            return
        assert not refusal
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7, atol=1e-9)


FLAGS = [(flag, value) for flag in ("has_canonical_format", "has_sorted_indices") for value in (True, False)]


@pytest.mark.parametrize("after", ["product", "sum_duplicates", "data", "flags", "sum"])
@pytest.mark.parametrize("flag", FLAGS, ids=str)
@pytest.mark.parametrize("name", MATRICES)
def test_what_a_program_says_of_the_order(name, flag, after):
    """A true claim changes nothing; a false one would, and is refused with the method that makes it true."""

    def f(y, way=None):
        A = MATRICES[name](y * 1.0)  # SciPy's methods work in the memory of the values
        if not hasattr(A, flag[0]):
            return y.sum()
        if way is not None:
            A = A.copy()
            getattr(A, way)()
        setattr(A, *flag)
        if after == "product":
            return weighed(A @ np.arange(1.0, 1.0 + A.shape[1]))
        if after == "sum_duplicates":
            A.sum_duplicates()
            return weighed(A.data)
        if after == "data":
            return weighed(A.data)
        if after == "flags":
            return weighed(A.data) * (
                1 + getattr(A, "has_sorted_indices", 2) + 3 * getattr(A, "has_canonical_format", 2)
            )
        return weighed((A + A.copy()).toarray())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # claims that are false: SciPy warns of what is not efficient
        try:
            gradient = ag.grad(f)(X)
        except ag.scipy.NotDifferentiable as error:
            assert flag[1]
            way = "sum_duplicates" if "A.sum_duplicates()" in str(error) else "sort_indices"

            def f(y, way=way, f=f):
                return f(y, way)

            gradient = ag.grad(f)(X)
        assert ag.value_and_grad(f)(X)[0] == pytest.approx(f(X), rel=1e-14)
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-8)
