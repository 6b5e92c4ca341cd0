"""Named tuples as arguments of NumPy's and math's functions, and numbers beside SciPy's linear operators.

Each is compared with differences of the plain call. Imports the public names of arraygrad.
"""

from __future__ import annotations

import math
import typing

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, spsolve

import arraygrad as ag

X = 1.3
A = np.array([[2.0, 1.0], [1.0, 3.0]])
V = np.array([1.0, 2.0])
GRID = np.linspace(0.0, 3.0, 8)


class Pair(typing.NamedTuple):
    first: float
    second: float


PAIRS = [
    np.sum, np.mean, np.max, np.linalg.norm, np.array, np.asarray, np.sqrt, np.cumsum, math.fsum, math.prod,
    lambda p: math.hypot(*p), lambda p: math.dist(p, (0.0, 0.0)), lambda p: np.dot(p, p), lambda p: np.hypot(*p),
    lambda p: np.asarray(p._replace(first=p.first * p.second)), lambda p: np.array([p, p]),
]  # fmt: skip
OPERATORS = [
    lambda x, L: (x * L).matvec(V),
    lambda x, L: (L * x) @ V,
    lambda x, L: (L * x + L) @ V,
    lambda x, L: (L * np.float64(x)).matmat(np.eye(2)),
    lambda x, L: cg(x * L, V)[0],
    lambda x, L: L @ np.array([1.0, x]),
]


def check(f):
    h = 1e-5
    assert ag.grad(f, adopt=True)(X) == pytest.approx((f(X + h) - f(X - h)) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("function", PAIRS)
def test_a_named_tuple_is_an_array_of_its_fields(function):
    check(lambda x: np.sum(function(Pair(x * x, 2.0))))


@pytest.mark.parametrize("use", OPERATORS)
@pytest.mark.parametrize(
    "make",
    [lambda: aslinearoperator(A), lambda: LinearOperator((2, 2), matvec=lambda v: A @ v, matmat=lambda v: A @ v)],
)
def test_a_recorded_number_scales_an_operator(use, make):
    check(lambda x: np.sum(use(x, make())))


def test_an_interpolant_knows_the_solver_that_it_is_given():
    check(lambda x: RegularGridInterpolator((GRID,), np.sin(GRID) * x, method="cubic", solver=spsolve)([[1.1]])[0])
