"""det and what is made of it, to third order at matrices of every rank.

The class: det, slogdet, inv, matrix_power x ranks 0 to n x sizes 1 to 4 x real and complex x stacks. A determinant is a
polynomial of degree one in each element: its third derivative along u, v, w is a sum of eight determinants of small
integer matrices, which is exact.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag


def matrix(n, rank, kind, rng):
    a = rng.integers(-2, 3, size=(n, rank)) @ rng.integers(-2, 3, size=(rank, n)).astype(float)
    return a.astype(kind)


def determinant(x):
    """By permutations, exact for small integers."""
    n = x.shape[-1]
    total = 0.0
    for order in itertools.permutations(range(n)):
        sign = np.linalg.det(np.eye(n)[list(order)])
        total = total + np.round(sign) * np.prod(x[range(n), list(order)])
    return total


def mixed(x, *directions):
    """The part of det(x + t1 d1 + t2 d2 + ...) that is linear in each t, at x: by interpolation in every t."""
    n = x.shape[-1]
    nodes = np.arange(-2.0, n - 1.0)  # n + 1 of them
    weights = np.linalg.inv(np.vander(nodes, increasing=True))[1]
    total = 0.0
    for places in itertools.product(range(n + 1), repeat=len(directions)):
        moved = x + sum(nodes[p] * d for p, d in zip(places, directions, strict=True))
        total = total + np.prod(weights[list(places)]) * determinant(moved)
    return total


def slope(f, direction):
    """The derivative of f along a direction, without conjugation: f is holomorphic."""

    def along(x):
        g = ag.grad(lambda x: np.real(f(x)))(x)
        return np.sum(np.conj(g) * direction)

    return along


@pytest.mark.parametrize("kind", ["d", "D"])
@pytest.mark.parametrize(("n", "rank"), [(n, r) for n in (1, 2, 3, 4) for r in range(n + 1)])
def test_det_has_three_derivatives_at_every_rank(n, rank, kind):
    rng = np.random.default_rng([n, rank])
    x = matrix(n, rank, kind, rng)
    directions = [rng.integers(-2, 3, size=(n, n)).astype(kind) for _ in range(3)]
    if kind == "D":
        directions[0] = directions[0] * (1 + 1j)
    f = np.linalg.det
    for order in (1, 2, 3):
        f = slope(f, directions[order - 1])
        expected = mixed(x, *directions[:order])
        found = f(x)
        size = 1.0 + np.prod([np.linalg.norm(d) for d in directions[:order]])
        np.testing.assert_allclose(np.asarray(found), expected, rtol=0.0, atol=1e-10 * size)


def test_a_stack_of_every_rank_at_once():
    rng = np.random.default_rng(5)
    x = np.stack([matrix(3, rank, "d", rng) for rank in range(4)])
    u, v, w = rng.integers(-2, 3, size=(3, 3, 3)).astype(float)
    f = slope(slope(slope(lambda x: np.sum(np.linalg.det(x)), u), v), w)
    np.testing.assert_allclose(f(x), sum(mixed(one, u, v, w) for one in x), atol=1e-9)


def test_the_polynomial_at_zero():
    third = ag.grad(lambda x: ag.grad(lambda x: ag.grad(np.linalg.det)(x)[0, 0])(x)[1, 1])(np.zeros((3, 3)))
    np.testing.assert_allclose(third, np.diag([0.0, 0.0, 1.0]), atol=1e-14)


@pytest.mark.parametrize("n", [-2, -1, 3, 4])
def test_powers_have_three_derivatives(n):
    rng = np.random.default_rng(n % 7)
    x = np.diag([1.0, 1.0, 2.0]) if n < 0 else matrix(3, 1, "d", rng)
    u, v, w = rng.normal(size=(3, 3, 3))
    weights = rng.normal(size=(3, 3))
    two = slope(slope(lambda x: np.sum(weights * np.linalg.matrix_power(x, n)), u), v)
    expected = (two(x + 1e-4 * w) - two(x - 1e-4 * w)) / 2e-4
    np.testing.assert_allclose(slope(two, w)(x), expected, rtol=1e-5, atol=1e-6)


def test_the_third_power_is_all_words_of_three_letters():
    rng = np.random.default_rng(3)
    directions, weights = rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3))
    f = lambda x: np.sum(weights * np.linalg.matrix_power(x, 3))
    for direction in directions:
        f = slope(f, direction)
    expected = sum(np.sum(weights * (a @ b @ c)) for a, b, c in itertools.permutations(directions))
    np.testing.assert_allclose(f(np.zeros((3, 3))), expected, rtol=1e-12)
