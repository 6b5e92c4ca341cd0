"""Comparisons that look like those of a search, and select nothing: tests that end iterations, guards, limiters.

The class: iteration (Newton, fixed points that converge fast and slowly, Riccati, Jacobi) x size of its step (abs,
norm, largest element, squares) x way to end (while, break, return), each run several times at one place; masks by `==`
that guard a division; limiters that give one of the values they compare. All are right, and not told. Beside them
searches that are spelled nearly so, and are told.
"""

import functools
import itertools
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

SIZES = {
    "abs": lambda d: np.max(abs(np.atleast_1d(d))),
    "norm": lambda d: np.linalg.norm(np.atleast_1d(d)),
    "root of squares": lambda d: np.sqrt(np.sum(np.square(d))),
    "bound first": lambda d: np.abs(np.atleast_1d(d)).max(),
}


def newton(a, x):
    return x - (x * x - a) / (2 * x)


def fast(a, x):
    return (x + 0.5 * a / x) / 1.5


def slow(a, x):
    return x + 0.2 * (np.sqrt(a) - x)


def riccati(a, p):
    A, B = np.array([[1.0, 0.1], [0.2, 1.0]]), np.array([[0.0], [1.0]])
    gain = np.linalg.inv(np.array([[1.0]]) + B.T @ p @ B)
    return A.T @ p @ A - A.T @ p @ B @ gain @ B.T @ p @ A + a * np.eye(2)


def jacobi(a, u):
    new = u.copy()
    new[1:-1] = 0.5 * (u[:-2] + u[2:] + 0.1 * a)
    return new


ITERATIONS = {
    "newton": (newton, lambda: 1.0, 1e-9),
    "fast": (fast, lambda: 1.0, 1e-9),
    "slow": (slow, lambda: 1.0, 1e-6),
    "riccati": (riccati, lambda: np.eye(2), 0.01),
    "jacobi": (jacobi, lambda: np.zeros(5), 1e-7),
}


def by_while(step, size, x, tolerance):
    difference, n = 1.0, 0
    while n < 200 and difference > tolerance:
        new = step(x)
        difference, x, n = size(new - x), new, n + 1
    return x


def by_break(step, size, x, tolerance):
    for _ in range(200):
        new = step(x)
        if size(new - x) < tolerance:
            break
        x = new
    return new


def by_return(step, size, x, tolerance):
    while True:
        new = step(x)
        if tolerance >= size(new - x):
            return new
        x = new


ENDS = [by_while, by_break, by_return]


def told(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = run()
    return result, [str(w.message) for w in found]


def differences(f, a):
    h = 1e-4 * a
    return (8.0 * (f(a + h) - f(a - h)) - f(a + 2.0 * h) + f(a - 2.0 * h)) / (12.0 * h)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("iteration", list(ITERATIONS))
@pytest.mark.parametrize("a", [4.3, 1.7])
def test_iterations_that_end_at_one_place_are_right_and_not_told(iteration, size, end, a):
    step, start, tolerance = ITERATIONS[iteration]

    def program(a):
        total = 0.0
        for k in range(8):
            found = end(functools.partial(step, a + 0.3 * k), SIZES[size], start(), tolerance)
            total = total + (k + 1.0) * np.sum(found)
        return total

    gradient, found = told(lambda: ag.grad(program)(a))
    assert not found
    assert gradient == pytest.approx(differences(program, a), rel=1e-5)


# -- guards by equality ------------------------------------------------------------------------------------------------

GUARDS = {
    "sum": lambda d: d + 1e-8 * (d == 0),
    "zero first": lambda d: d + 1e-8 * (0.0 == d),
    "where": lambda d: np.where(d != 0.0, d, 1e-8),
    "function": lambda d: d + 1e-8 * np.equal(d, 0.0),
}


def limited(f, slope, guard):
    """The slopes of a field, limited on both sides: those that are zero are zero in the second step."""
    for shift, sign in ((1, 1.0), (-1, -1.0)):
        ratio = sign * (f - np.roll(f, shift)) * 12.0 / guard(slope)
        slope = np.maximum(0.0, np.minimum(1.0, ratio)) * slope
    return slope


@pytest.mark.parametrize("guard", list(GUARDS))
@pytest.mark.parametrize(("n", "fields", "steps"), [(12, 3, 8), (12, 5, 20), (16, 5, 8)])
@pytest.mark.parametrize("a", [0.7, 1.9])
def test_guard_by_equality_is_right_and_not_told(guard, n, fields, steps, a):
    def program(a):
        x, total = np.linspace(0.0, 1.0, n, endpoint=False), 0.0
        given = [1.0 + 0.2 * np.sin(2.0 * np.pi * (k + 1) * x + k) for k in range(fields)]
        given = [f + 0.05 * a * np.cos(2.0 * np.pi * x) for f in given]
        for _ in range(steps):
            for k, f in enumerate(given):
                slope = limited(f, (np.roll(f, -1) - np.roll(f, 1)) * n / 2, GUARDS[guard])
                face = f + slope / (2.5 * n)
                given[k] = f - 0.2 * (face - np.roll(face, 1))
        for f in given:
            total = total + np.sum(f * f * x)
        return total

    gradient, found = told(lambda: ag.grad(program)(a))
    assert not [text for text in found if "bisection" in text]
    assert gradient == pytest.approx(differences(program, a), rel=1e-5)


# -- limiters ----------------------------------------------------------------------------------------------------------


def by_elif(a, b):
    if abs(a) < abs(b) and a * b > 0.0:
        return a
    elif abs(b) < abs(a) and a * b > 0.0:
        return b
    else:
        return 0.0


def by_a_statement_that_follows(a, b):
    if a * b <= 0.0:
        return 0.0
    if abs(a) < abs(b):
        return a
    return b


def by_a_name(a, b):
    if abs(a) <= abs(b):
        found = a
    else:
        found = b
    return found


LIMITERS = [by_elif, by_a_statement_that_follows, by_a_name]


@pytest.mark.parametrize("limiter", LIMITERS, ids=lambda limiter: limiter.__name__)
@pytest.mark.parametrize("a", [0.7, 1.9])
def test_limiter_gives_one_of_what_it_compares_and_is_not_told(limiter, a):
    def program(a):
        x = (np.arange(24) + 0.5) / 24.0
        u = 1.0 + np.exp(-60.0 * (x - 0.5) ** 2)
        for _ in range(30):
            slopes = np.zeros(24)
            for i in range(24):
                ends = u[i] - u[i - 1], u[(i + 1) % 24] - u[i]
                slopes[i] = limiter(limiter(2.0 * ends[0], 2.0 * ends[1]), 0.5 * (ends[0] + ends[1]))
            left = u + 0.5 * (1.0 - 0.4 * a) * slopes
            u = u - 0.4 * a * (left - np.roll(left, 1))
        return np.sum(u * u * x)

    gradient, found = told(lambda: ag.grad(program)(a))
    assert not [text for text in found if "bisection" in text]
    assert gradient == pytest.approx(differences(program, a), rel=1e-5)


# -- searches that are spelled nearly so -------------------------------------------------------------------------------


def walk(a, lo, hi):
    x, step = lo, (hi - lo) / 2
    for _ in range(30):
        while (x + step) ** 2 * a < 5.0:
            x = x + step
        step = step / 2
    return x


def halving_of_a_size(a, lo, hi):
    for _ in range(30):
        m = (lo + hi) / 2
        if m * m * a < 5.0:
            lo = m
        else:
            hi = m
    return m


def short_halving(a, lo, hi):
    for _ in range(16):
        m = (lo + hi) / 2
        if m * m < a:
            lo = m
        else:
            hi = m
    return m


def smaller(c, d):
    if c < d:
        return c
    return d


def golden_section_by_a_function(a, lo, hi):
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(30):
        c, d = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
        p, q = (a * c * c - 5.0) ** 2, (a * d * d - 5.0) ** 2
        if smaller(p, q) == p:
            hi = d
        else:
            lo = c
    return lo


SEARCHES = [walk, halving_of_a_size, short_halving, golden_section_by_a_function]


@pytest.mark.parametrize(
    ("search", "a"), list(itertools.product(SEARCHES, [1.3, 4.3])), ids=lambda one: getattr(one, "__name__", str(one))
)
def test_search_that_looks_like_these_is_told(search, a):
    _, found = told(lambda: ag.grad(lambda a: a + search(a, 0.0, 6.0))(a))
    assert [text for text in found if "bisection" in text]
