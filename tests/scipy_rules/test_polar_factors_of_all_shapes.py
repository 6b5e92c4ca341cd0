"""The class of polar factors: wide, tall and square matrices and stacks, both sides, real and complex; and rotations of
matrices whose product has no full rank, which are one of many.

The reference is SciPy's function and differences of it.
"""

import itertools

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import linalg
from scipy_differences import check

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable
from arraygrad.scipy import linalg as ours

SHAPES = [(1, 3), (3, 1), (2, 4), (4, 2), (3, 3), (2, 2, 3), (2, 3, 2), (1, 1)]


def numbers(shape, complex_, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=shape) + 0.5
    return found + 1j * rng.normal(size=shape) if complex_ else found


MEMBERS = list(itertools.product(SHAPES, ("left", "right"), (False, True)))


@pytest.mark.parametrize(("shape", "side", "complex_"), MEMBERS)
def test_polar(shape, side, complex_):
    a = numbers(shape, complex_)
    for part in (0, 1):
        check(lambda a, p=part: ours.polar(a, side=side)[p], lambda a, p=part: linalg.polar(a, side=side)[p], [a],
              step=2e-3, rtol=1e-6, second=len(shape) == 2 and not complex_, loose=1e-9)  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 4), (1, 3), (2, 5)])
def test_a_rotation_that_is_one_of_many_is_refused(shape):
    b = numbers(shape, False, 1)
    with pytest.raises(NotDifferentiable, match="one of many"):
        ag.grad(lambda a: np.sum(linalg.orthogonal_procrustes(a, b)[0]))(numbers(shape, False))


@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (5, 3)])
def test_a_rotation(shape):
    b = numbers(shape, False, 1)
    for part in (0, 1):
        check(lambda a, p=part: ours.orthogonal_procrustes(a, b)[p],
              lambda a, p=part: linalg.orthogonal_procrustes(a, b)[p], [numbers(shape, False)], step=2e-3, rtol=1e-6,
              second=False, loose=1e-9)  # fmt: skip


@pytest.mark.parametrize("kind", [list, tuple])
def test_factors_in_a_list(kind):
    matrix = numbers((3, 3), False) + 4.0 * np.eye(3)
    b = numbers((3,), False, 1)
    lower = np.linalg.cholesky(matrix @ matrix.T)
    check(lambda c, b: ours.cho_solve(kind((c, True)), b), lambda c, b: linalg.cho_solve(kind((c, True)), b),
          [lower, b], step=1e-3, rtol=1e-6, second=False, loose=1e-9)  # fmt: skip
    pivots = np.arange(3)
    check(lambda c, b: ours.lu_solve(kind((c, pivots)), b), lambda c, b: linalg.lu_solve(kind((c, pivots)), b),
          [matrix, b], step=1e-3, rtol=1e-6, second=False, loose=1e-9)  # fmt: skip
