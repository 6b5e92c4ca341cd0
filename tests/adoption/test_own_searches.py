"""Searches by comparisons that a program makes itself: their results are selected, and no gradient reaches through it.

The class: spelling of the search (bisection by a conditional, an if, signs, products, recursion, np.where, masks;
golden section, ternary search; ended by a count, a width, isclose) x ends (constants, values that depend on the
argument) x what else depends on the argument x transform x adoption. Beside it programs whose comparisons lose nothing.
"""

import gc
import itertools
import math
import warnings
import weakref

import numpy as np
import pytest

import arraygrad as ag

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
A = 4.3


def by_a_conditional(a, lo, hi):
    for _ in range(60):
        m = (lo + hi) / 2
        lo, hi = (m, hi) if m * m < a else (lo, m)
    return (lo + hi) / 2


def by_an_if(a, lo, hi):
    for _ in range(40):
        m = lo + (hi - lo) / 2
        if m * m - a < 0:
            lo = m
        else:
            hi = m
    return m


def by_a_product(a, lo, hi):
    def f(m):
        return m * m - a

    for _ in range(40):
        m = (lo + hi) / 2
        if f(lo) * f(m) <= 0:
            hi = m
        else:
            lo = m
    return m


def by_signs(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        if np.sign(m * m - a) == np.sign(lo * lo - a):
            lo = m
        else:
            hi = m
    return m


def by_numpy(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        if np.less(m * m, a):
            lo = m
        else:
            hi = m
    return m


def until_narrow(a, lo, hi):
    while hi - lo > 1e-4:
        m = (lo + hi) / 2
        if m**2 > a:
            hi = m
        else:
            lo = m
    return lo


def until_close(a, lo, hi):
    while not np.isclose(lo, hi, rtol=1e-9):
        m = 0.5 * (lo + hi)
        if a > m * m:
            lo = m
        else:
            hi = m
    return lo


def by_golden_section(a, lo, hi):
    def f(m):
        return (m * m - a) ** 2

    for _ in range(30):
        c, d = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
        if f(c) < f(d):
            hi = d
        else:
            lo = c
    return lo


def by_thirds(a, lo, hi):
    for _ in range(50):
        c, d = lo + (hi - lo) / 3, hi - (hi - lo) / 3
        lo, hi = (lo, d) if abs(c * c - a) < abs(d * d - a) else (c, hi)
    return lo


def by_min(a, lo, hi):
    for _ in range(30):
        c, d = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
        if min((c, d), key=lambda m: (m * m - a) ** 2) == c:
            hi = d
        else:
            lo = c
    return lo


def by_recursion(a, lo, hi, n=40):
    m = (lo + hi) / 2
    if n == 0:
        return m
    return by_recursion(a, m, hi, n - 1) if m * m < a else by_recursion(a, lo, m, n - 1)


def by_where(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        below = m * m < a * np.array([1.0, 2.0, 3.0])
        lo, hi = np.where(below, m, lo), np.where(below, hi, m)
    return np.sum(lo) / np.sum(np.sqrt([1.0, 2.0, 3.0]))


def by_masks(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        below = np.where(m * m < a, 1.0, 0.0)
        lo, hi = below * m + (1.0 - below) * lo, below * hi + (1.0 - below) * m
    return lo


def by_steps(a, lo, hi):
    x, step = lo, hi - lo
    for _ in range(40):
        step = step / 2
        if (x + step) ** 2 <= a:
            x = x + step
    return x


def by_a_buffer(a, lo, hi):
    lo, hi, k = lo + np.zeros(1), hi + np.zeros(1), np.zeros(1)
    for _ in range(60):
        m = (lo + hi) / 2
        k[:] = m * m - a
        hi, lo = np.where(k > 0.0, m, hi), np.where(k > 0.0, lo, m)
    return lo[0]


def by_rows(a, lo, hi):
    lo, hi, k = lo + np.zeros(2), hi + np.zeros(2), np.empty((2, 2))
    for _ in range(60):
        m = (lo + hi) / 2
        k[0], k[1] = lo * lo - a, m * m - a
        other = np.sign(k[0]) != np.sign(k[1])
        hi, lo = np.where(other, m, hi), np.where(other, lo, m)
    return lo[0]


def by_an_output(a, lo, hi):
    lo, hi, k = lo + np.zeros(1), hi + np.zeros(1), np.zeros(1)
    for _ in range(60):
        m = (lo + hi) / 2
        np.subtract(m * m, a, out=k)
        hi, lo = np.where(k > 0.0, m, hi), np.where(k > 0.0, lo, m)
    return lo[0]


def by_masks_in_place(a, lo, hi):
    lo, hi, k = lo + np.zeros(1), hi + np.zeros(1), np.zeros(1)
    x = (lo + hi) / 2
    todo = np.array([True])
    for _ in range(60):
        k[todo] = x[todo] ** 2
        high = (k > a) & todo
        np.copyto(hi, x, where=high)
        np.copyto(lo, x, where=~high & todo)
        np.copyto(x, (lo + hi) / 2, where=todo)
    return x[0]


SEARCHES = [
    by_a_buffer, by_rows, by_an_output, by_masks_in_place,
    by_a_conditional, by_an_if, by_a_product, by_signs, by_numpy, until_narrow, until_close, by_golden_section,
    by_thirds, by_min, by_recursion, by_where, by_masks, by_steps,
]  # fmt: skip
PROGRAMS = {  # what else depends on the argument, and the ends
    "alone": lambda search: lambda a: search(a, 0.0, 10.0),
    "a + root": lambda search: lambda a: a + search(a, 0.0, 10.0),
    "root * sin(a)": lambda search: lambda a: np.sin(a) * search(a, 0.0, 10.0),
    "hi depends": lambda search: lambda a: search(a, 0.0, 5.0 * a),
    "both ends depend": lambda search: lambda a: search(a, 0.0 * a, 5.0 * a),
    "twice": lambda search: lambda a: search(a, 0.0, 10.0) + search(2.0 * a, 0.0, 11.0),
}
TRANSFORMS = {
    "value_and_grad": lambda f, a, **how: ag.value_and_grad(f, **how)(a)[0],
    "jvp": lambda f, a, **how: ag.jvp(f, (a,), (1.0,), **how)[0],
    "vjp": lambda f, a, **how: ag.vjp(f, a, **how)[0],
    "jacobian": lambda f, a, **how: (ag.jacobian(f, **how)(a), f(a))[1],
    "nested": lambda f, a, **how: (ag.grad(lambda b: ag.grad(f)(b), **how)(a), f(a))[1],
}


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call()
    return value, [w for w in found if "selected by the comparisons" in str(w.message)]


@pytest.mark.parametrize(("search", "program"), list(itertools.product(SEARCHES, PROGRAMS)))
def test_search_by_comparisons_is_told_with_its_line(search, program):
    f = PROGRAMS[program](search)
    value, found = told(lambda: TRANSFORMS["value_and_grad"](f, A))
    assert value == f(A)
    assert found
    first = search.__code__.co_firstlineno
    assert all(w.filename == __file__ and first < w.lineno < first + 16 for w in found)


@pytest.mark.parametrize(
    ("search", "transform"), list(itertools.product([by_an_if, by_golden_section, by_where], TRANSFORMS))
)
@pytest.mark.parametrize("adopt", [True, False])
def test_search_is_told_in_every_transform(search, transform, adopt):
    assert told(lambda: TRANSFORMS[transform](PROGRAMS["a + root"](search), A, adopt=adopt))[1]


@pytest.mark.parametrize("a", [np.float64(0.3), np.array(7.7), 55.0, 0.0123])
@pytest.mark.parametrize("search", SEARCHES)
def test_search_is_told_of_scalars_arrays_and_other_roots(search, a):
    assert told(lambda: TRANSFORMS["value_and_grad"](PROGRAMS["a + root"](search), a))[1]


# -- programs whose comparisons lose nothing ---------------------------------------------------------------------------


def newton(a):
    x = 1.0
    while True:
        new = x - (x * x - a) / (2 * x)
        if abs(new - x) < 1e-12:
            return new
        x = new


def fixed_point(a):
    x = 1.0
    for _ in range(200):
        new = (x + 0.5 * a / x) / 1.5
        if abs(new - x) < 1e-10:
            break
        x = new
    return x


def secant(a):
    x0, x1 = 1.0, 3.0
    while abs(x1 - x0) > 1e-9:
        f0, f1 = x0 * x0 - a, x1 * x1 - a
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
    return x1


def regula_falsi(a):
    lo, hi = 0.5, 10.0
    for _ in range(60):
        m = (lo * (hi * hi - a) - hi * (lo * lo - a)) / (hi * hi - lo * lo)
        if (m * m - a) * (lo * lo - a) < 0:
            hi = m
        else:
            lo = m
    return m


def levenberg_marquardt(a):
    x, damping = 3.0, 1.0
    for _ in range(30):
        new = x - 4 * (x * x - a) * x / (8 * x * x + damping)
        if (new * new - a) ** 2 < (x * x - a) ** 2:
            x, damping = new, damping / 2
        else:
            damping = damping * 3
    return x


def time_steps(a):
    t, area, dt = 0.0 * a, 0.0, a / 100
    while t < 3.9:
        t, area = t + dt, area + t * dt
    return area


def table_by_bisection(a):
    xs, lo, hi = np.linspace(0.0, 10.0, 5000), 0, 4999
    while hi - lo > 1:
        m = (lo + hi) // 2
        if xs[m] <= a:
            lo = m
        else:
            hi = m
    w = (a - xs[lo]) / (xs[hi] - xs[lo])
    return xs[lo] ** 2 * (1 - w) + xs[hi] ** 2 * w


def table_in_order(a):
    xs = np.linspace(0.0, 10.0, 200)
    for lo, hi in itertools.pairwise(xs):
        if lo <= a < hi:
            break
    w = (a - lo) / (hi - lo)
    return lo**2 * (1 - w) + hi**2 * w


def decaying_terms(a):
    total = 0.0
    for k in range(40):
        term = np.exp(-0.3 * k * a) * np.sin(float(k))
        if term > 0:
            total = total + term
    return total


def rectified_layers(a):
    x = a * np.linspace(-1.0, 1.0, 20)
    for _ in range(20):
        x = np.where(x > 0, x, 0.1 * x) * 0.5
    return np.sum(x)


def sorted_by_hand(a):
    items = [a * np.sin(3.0 * k) for k in range(12)]
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return sum(k * item for k, item in enumerate(items))


def armijo(a):
    x = 3.0
    for _ in range(15):
        slope, step = 4 * (x * x - a) * x, 1.0
        while ((x - step * slope) ** 2 - a) ** 2 > (x * x - a) ** 2 - 1e-4 * step * slope**2:
            step = step / 2
        x = x - step * slope
    return x


ORDINARY = [
    newton, fixed_point, secant, regula_falsi, levenberg_marquardt, time_steps, table_by_bisection, table_in_order,
    decaying_terms, rectified_layers, sorted_by_hand, armijo,
]  # fmt: skip


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("program", ORDINARY)
@pytest.mark.parametrize("a", [A, 2.2])
def test_program_whose_comparisons_lose_nothing_is_right_and_not_told(program, a, adopt):
    gradient, found = told(lambda: ag.grad(program, adopt=adopt)(a))
    assert not found
    differences = (program(a + 1e-6) - program(a - 1e-6)) / 2e-6
    assert gradient == pytest.approx(differences, rel=1e-4)


def test_search_of_a_constant_is_not_told():
    def f(a):
        return a * by_an_if(ag.stop_gradient(a), 0.0, 10.0)

    assert not told(lambda: ag.grad(f)(A))[1]


def test_bisection_inside_implicit_is_not_told():
    def bisection(fun, x0):
        lo, hi = np.zeros_like(x0), np.full_like(x0, 10.0)
        for _ in range(60):
            m = (lo + hi) / 2
            if fun(m) < 0:
                lo = m
            else:
                hi = m
        return lo

    solve = ag.implicit.root(lambda m, a: m * m - a, bisection)
    gradient, found = told(lambda: ag.grad(lambda a: a + np.sum(solve(np.ones(1), a)))(A))
    assert not found
    assert gradient == pytest.approx(1.0 + 0.5 / math.sqrt(A))


class Marked(ag.autograd.Function):
    """The sum of a large array, whose node has an attribute that lives as long as it does."""

    @staticmethod
    def forward(ctx, x, marks):
        ctx.mark = type("Mark", (), {})()
        marks.add(ctx.mark)
        return np.sum(x)

    @staticmethod
    def backward(ctx, g):
        return g * np.ones(3), None


def alive_at_the_end(next_loss):
    """How many graphs of 60 losses are alive when the comparisons are over."""
    counts = []

    def f(x):
        marks = weakref.WeakSet()
        best = Marked.apply(x, marks) + 1e9
        for k in range(60):
            loss = next_loss(Marked.apply(x, marks), k)
            if loss < best:
                best = loss
            else:
                best = best + 1.0
        gc.collect()
        counts.append(len(marks))
        return best

    ag.grad(f, adopt=False)(np.array([1.0, 2.0, 3.0]))
    return counts[0]


def test_graphs_of_comparisons_are_let_go():
    """The last loss is the result; the others' graphs would keep the arrays of every step."""
    assert alive_at_the_end(lambda loss, k: loss * (1e3 + k)) <= 5  # nothing approaches anything
    assert alive_at_the_end(lambda loss, k: loss * (1.0 + 0.5**k)) <= 24
