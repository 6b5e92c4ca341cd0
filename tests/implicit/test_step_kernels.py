"""Compiled loops over many steps give what NumPy's linear algebra gives, step by step.

The class: number of steps x stages x values x explicit or implicit x sizes of Jacobians, stiff ones among them; what a
polynomial leaves out x how fast its function moves; interpolation x order of times. The references are whole systems of
all steps, solved in one, and polynomials of NumPy's.
"""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from arraygrad.implicit import collocation, step_kernels


def random(seed):
    return np.random.default_rng(seed)


def reference(a, b, h, jac, after, by_state, by_stages):
    """The same, by the recursion of one step as a whole linear system, in extended precision where it is explicit."""
    m, count, n, _ = jac.shape
    p, found = np.array(after, dtype=float), np.empty((m, count, n))
    for k in range(m - 1, -1, -1):
        system = np.eye(count * n)
        for i in range(count):
            for j in range(count):
                system[i * n : i * n + n, j * n : j * n + n] -= h[k] * a[j, i] * jac[k, j].T
        z = np.linalg.solve(system, (b[:, None] * p + by_stages[k]).reshape(-1)).reshape(count, n)
        p = p + by_state[k] + h[k] * sum(jac[k, i].T @ z[i] for i in range(count))
        found[k] = h[k] * z
    return p, found


@pytest.mark.parametrize("size", [0.3, 3.0, 300.0])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("m", [0, 1, 9])
@pytest.mark.parametrize("stages", [3, 8])
def test_gradients_go_back_over_implicit_steps(stages, m, n, size):
    rng, tableau = random(stages + m + n), collocation._radau(stages)
    jac = rng.standard_normal((m, stages, n, n)) - size * np.eye(n)
    given = [rng.uniform(0.1, 0.4, m), jac, rng.standard_normal(n), rng.standard_normal((m, n)),
             rng.standard_normal((m, stages, n))]  # fmt: skip
    for found, expected in zip(
        step_kernels.carried(tableau.a, tableau.whole, True, *given), reference(tableau.a, tableau.whole, *given),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("where", [0, 1, 2])
@pytest.mark.parametrize("what", [np.nan, np.inf])
def test_jacobians_that_are_not_finite_give_nan_as_lapack_does(what, where):
    rng, tableau = random(where), collocation._radau(3)
    jac = rng.standard_normal((1, 3, 2, 2))
    jac[0, where, 1, 0] = what
    given = [np.array([0.3]), jac, rng.standard_normal(2), rng.standard_normal((1, 2)), rng.standard_normal((1, 3, 2))]
    with np.errstate(all="ignore"):
        p, stages = step_kernels.carried(tableau.a, tableau.whole, True, *given)
    assert np.isnan(p).any()
    assert np.isnan(stages).any()


def test_a_singular_step_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        step_kernels.carried([[1.0]], [1.0], True, [1.0], np.ones((1, 1, 1, 1)), [1.0], [[0.0]], [[[0.0]]])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("m", [0, 1, 7])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_gradients_go_back_over_explicit_steps(m, n, way):
    rng, stages = random(m + n), 6
    a, b = np.tril(rng.uniform(-1.0, 1.0, (stages, stages)), -1), rng.uniform(0.0, 1.0, stages)
    given = [way * rng.uniform(0.1, 0.4, m), rng.standard_normal((m, stages, n, n)), rng.standard_normal(n),
             rng.standard_normal((m, n)), rng.standard_normal((m, stages, n))]  # fmt: skip
    for found, expected in zip(
        step_kernels.carried(a, b, False, *given), reference(a, b, *given), strict=True
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_jacobians_in_any_order_of_memory_are_read():
    rng, tableau = random(3), collocation._radau(3)
    jac = rng.standard_normal((2, 3, 4, 2)).transpose(2, 1, 3, 0)
    given = [np.full(4, 0.2), jac, np.ones(2), np.zeros((4, 2)), np.zeros((4, 3, 2))]
    found = step_kernels.carried(tableau.a, tableau.whole, True, *given)
    np.testing.assert_allclose(found[0], reference(tableau.a, tableau.whole, *given)[0], rtol=1e-12)


def test_a_system_that_is_singular_is_told():
    tableau = collocation._radau(1)
    with pytest.raises(np.linalg.LinAlgError):
        step_kernels.carried(
            tableau.a, tableau.whole, True, np.ones(1), np.ones((1, 1, 1, 1)), np.ones(1), np.zeros((1, 1)),
            np.zeros((1, 1, 1)),
        )  # fmt: skip


def estimated(jac, h=1.0, matrix=None):
    tableau = collocation._radau(8)
    at = np.asarray(jac(tableau.c), dtype=float).reshape(1, 8, 1, 1)
    matrix = None if matrix is None else np.asarray(matrix(tableau.c), dtype=float).reshape(1, 8, 1)
    return float(step_kernels.errors(tableau.tops, collocation._NEXT, 0.03, np.array([h]), at, matrix)[0])


def left_out(f):
    """The largest coefficient, by Legendre's, that a polynomial through the eight nodes leaves out of a function."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    basis = np.polynomial.legendre.legvander(nodes, 20)
    coefficients = (basis * weights[:, None]).T @ f(0.5 + 0.5 * nodes) * (2 * np.arange(21) + 1) / 2
    return np.max(np.abs(coefficients[8:]))


FUNCTIONS = {
    "wave": lambda w: lambda x: np.cos(w * x),
    "even": lambda w: lambda x: np.cos(w * (x - 0.5)),
    "odd": lambda w: lambda x: np.sin(w * (x - 0.5)),
    "pole": lambda w: lambda x: 1.0 / (1.0 + (w * (x - 0.5)) ** 2),
    "step": lambda w: lambda x: np.tanh(w * (x - 0.7)),
    "growth": lambda w: lambda x: np.exp(w * x) / np.exp(w),
}


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_estimate_is_not_below_what_is_left_out(name, speed):
    f = FUNCTIONS[name](speed)
    least = min(0.3 * left_out(f), 0.1) - 1e-15  # beyond that nothing is resolved
    assert estimated(f, 1e-6) * 1e6 >= least  # of a short step the part of the exponential function is none
    assert estimated(np.zeros_like, 1.0, f) >= least


def test_values_that_are_not_finite_have_no_estimate():
    for bad in (np.nan, np.inf):
        values = np.where(np.arange(8) == 3, bad, 1.0)
        assert np.isnan(estimated(lambda x, values=values: values))
        assert np.isnan(estimated(np.zeros_like, 1.0, lambda x, values=values: values))


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("sorts", [True, False])
def test_polynomials_through_four_values_and_slopes(way, sorts):
    rng = random(1)
    t = way * np.cumsum(rng.uniform(0.5, 1.0, 9))
    polynomials = [Polynomial(rng.standard_normal(8), domain=sorted(t[[0, -1]])) for _ in range(2)]
    y = np.stack([p(t) for p in polynomials], axis=1)
    slopes = np.stack([p.deriv()(t) for p in polynomials], axis=1)
    at = way * np.linspace(way * t[0], way * t[-1], 41)
    at = at if sorts else rng.permutation(at)
    stencils = step_kernels.stencils(t)
    assert len(stencils) == 8
    found = step_kernels.interpolated(at, t, y, slopes, stencils)
    np.testing.assert_allclose(found, np.stack([p(at) for p in polynomials], axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wrong", [np.zeros(3, np.float32), np.zeros(4), [0.0, 1.0, 2.0], np.zeros(6)[::2]])
def test_what_is_no_array_of_so_many_numbers_is_refused(wrong):
    t = np.linspace(0.0, 1.0, 5)
    with pytest.raises((TypeError, AttributeError)):
        step_kernels.interpolated(
            wrong if len(wrong) == 3 else np.zeros(3),
            t,
            np.zeros((5, 1)),
            np.zeros((5, 1))[:4],
            step_kernels.stencils(t),
        )
