"""The class of triangular systems of scipy.sparse.linalg: both triangles, unit diagonals, formats and dense matrices.

The reference is SciPy's function and differences of it, within the triangle. What lies on the other side of the
diagonal is not part of the system: its gradient is zero.
"""

import itertools

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import sparse
from scipy.sparse.linalg import spsolve_triangular

import arraygrad as ag

pytestmark = pytest.mark.filterwarnings("ignore:CSC or CSR matrix format is required")
RNG = np.random.default_rng(3)
WHOLE = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
SIDES = {"vector": RNG.normal(size=4), "columns": RNG.normal(size=(4, 2))}
FORMATS = ("dense", "csr", "csc", "coo")
MEMBERS = list(itertools.product((True, False), (True, False), SIDES, FORMATS))


@pytest.mark.parametrize(("lower", "unit", "side", "form"), MEMBERS)
def test_by_the_matrix_and_the_right_side(lower, unit, side, form):
    triangle = np.tril(WHOLE) if lower else np.triu(WHOLE)
    pattern, b = sparse.csr_array(triangle), SIDES[side]

    def matrix(values):
        if form == "dense":
            full = np.zeros((4, 4))
            full[pattern.nonzero()] = values
            return full
        return sparse.csr_array((values, pattern.indices, pattern.indptr), shape=(4, 4)).asformat(form)

    solve = lambda A, b: np.sum(spsolve_triangular(A, b, lower=lower, unit_diagonal=unit) ** 2)
    holds(lambda v: solve(matrix(v), b) + np.sum(v), pattern.data, rtol=1e-5, atol=1e-7)
    holds(lambda b: solve(matrix(pattern.data), b), b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_the_other_side_has_no_part(lower, unit):
    triangle = np.tril(WHOLE) if lower else np.triu(WHOLE)
    gradient = ag.grad(lambda A: np.sum(spsolve_triangular(A, SIDES["vector"], lower=lower, unit_diagonal=unit)))(
        triangle
    )
    assert not np.any(gradient[~(np.tril(np.ones((4, 4), bool)) if lower else np.triu(np.ones((4, 4), bool)))])
    assert not unit or not np.any(np.diagonal(gradient))
