"""Searches by comparisons, by what the comparison is spelled with: a transform warns of each.

The class: what says on which side the solution is (products and quotients of signs, np.sign, signbit, copysign, min,
max, sorted, argmin, argsort, booleans) x search (halvings, steps, golden section, refined grids, stacks of searches,
whole numbers) x ends (constants, values that depend on the argument) x root (any, one that a halving hits).
"""

import itertools
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def f(m, a):
    return m * m - a


def q(m, a):
    return (m * m - a) ** 2


BELOW = {  # whether the root lies above m
    "product": lambda m, a, lo: f(lo, a) * f(m, a) > 0,
    "product with zero first": lambda m, a, lo: 0 < f(lo, a) * f(m, a),
    "negative product": lambda m, a, lo: -f(lo, a) * f(m, a) < 0,
    "product of three": lambda m, a, lo: f(lo, a) * f(m, a) * a > 0,
    "quotient": lambda m, a, lo: f(m, a) / f(lo, a) > 0,
    "sign of a product": lambda m, a, lo: np.sign(f(lo, a) * f(m, a)) > 0,
    "product of signs": lambda m, a, lo: np.sign(f(lo, a)) * np.sign(f(m, a)) > 0,
    "equal signs": lambda m, a, lo: np.sign(f(lo, a)) == np.sign(f(m, a)),
    "signbit": lambda m, a, lo: np.signbit(f(m, a)),
    "copysign": lambda m, a, lo: np.copysign(1.0, f(m, a)) < 0,
    "math.copysign": lambda m, a, lo: math.copysign(1.0, f(m, a)) < 0,
    "size": lambda m, a, lo: abs(f(m, a)) != f(m, a),
    "max": lambda m, a, lo: max(m * m, a) == a,
    "np.maximum": lambda m, a, lo: np.maximum(m * m, a) == a,
    "key": lambda m, a, lo: max((0, 1), key=lambda i: (m * m, a)[i]) == 1,
    "sorted": lambda m, a, lo: sorted([(m * m, 0), (a, 1)])[0][1] == 0,
    "argmin": lambda m, a, lo: np.argmin([m * m, a]) == 0,
    "argmax": lambda m, a, lo: np.argmax(np.stack([m * m, a * 1.0])) == 1,
    "argsort": lambda m, a, lo: np.argsort([m * m, a])[0] == 0,
    "argpartition": lambda m, a, lo: np.argpartition([m * m, a], 0)[0] == 0,
    "nanargmin": lambda m, a, lo: np.nanargmin([m * m, a]) == 0,
    "method argsort": lambda m, a, lo: np.array([m * m, a]).argsort()[0] == 0,
    "bool": lambda m, a, lo: bool(f(m, a) < 0),
    "int": lambda m, a, lo: int(f(m, a) < 0) == 1,
    "and": lambda m, a, lo: f(m, a) < 0 and m > -1,
    "two booleans": lambda m, a, lo: (f(lo, a) < 0) == (f(m, a) < 0),
    "all": lambda m, a, lo: np.all(np.array([f(m, a)]) < 0),
}


def halvings(below):
    def search(a, lo, hi):
        for _ in range(40):
            m = (lo + hi) / 2
            if below(m, a, lo):
                lo = m
            else:
                hi = m
        return m

    return search


LEFT = {  # whether the minimum lies left of d
    "squares": lambda c, d, a: q(c, a) < q(d, a),
    "fourth powers": lambda c, d, a: q(c, a) ** 2 < q(d, a) ** 2,
    "sizes": lambda c, d, a: abs(f(c, a)) < abs(f(d, a)),
    "difference": lambda c, d, a: np.sign(q(c, a) - q(d, a)) < 0,
    "argmin": lambda c, d, a: np.argmin([q(c, a), q(d, a)]) == 0,
    "max": lambda c, d, a: max(-q(c, a), -q(d, a)) == -q(c, a),
    "key": lambda c, d, a: sorted((c, d), key=lambda m: q(m, a))[0] == c,
    "integral": lambda c, d, a: c**3 / 3 - a * c < d**3 / 3 - a * d,
}


def golden_section(left):
    def search(a, lo, hi):
        for _ in range(30):
            c, d = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
            if left(c, d, a):
                hi = d
            else:
                lo = c
        return (lo + hi) / 2

    return search


def intermediate_booleans(a, lo, hi):
    going = True
    while going:
        m = (lo + hi) / 2
        left = f(m, a) < 0
        right = not left
        lo, hi = m if left else lo, m if right else hi
        going = hi - lo > 1e-9
    return lo


def index_of_a_boolean(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        lo, hi = [(lo, m), (m, hi)][int(f(m, a) < 0)]
    return lo


def factors_of_a_boolean(a, lo, hi):
    for _ in range(40):
        m = (lo + hi) / 2
        p = 1.0 * (f(m, a) < 0)
        lo, hi = lo + p * (m - lo), hi + (1 - p) * (m - hi)
    return lo


def quarters(a, lo, hi):
    for _ in range(20):
        points = [lo + (hi - lo) * k / 4 for k in range(5)]
        i = [f(m, a) < 0 for m in points].index(False)
        lo, hi = points[i - 1], points[i]
    return lo


def whole_numbers(a, lo, hi):
    n = 0
    for k in range(39, -1, -1):
        if (lo + (hi - lo) * (n + 2**k) / 2**40) ** 2 <= a:
            n += 2**k
    return lo + (hi - lo) * n / 2**40


def products_in_a_stack(a, lo, hi):
    k = np.array([0.1, 1.0, 2.0])
    lo, hi = lo + np.zeros(3), hi + np.zeros(3)
    for _ in range(40):
        m = (lo + hi) / 2
        below = f(lo, a * k) * f(m, a * k) > 0
        lo, hi = np.where(below, m, lo), np.where(below, hi, m)
    return np.sum(lo)


def masks_in_a_stack(a, lo, hi):
    k = np.array([0.1, 1.0, 2.0])
    lo, hi = lo + np.zeros(3), hi + np.zeros(3)
    for _ in range(40):
        m = (lo + hi) / 2
        below = m * m < a * k
        lo[below] = m[below]
        hi[~below] = m[~below]
    return np.sum(lo)


def stack_with_constants(a, lo, hi):
    k = np.linspace(0.1, 1.0, 20)
    lo, hi = lo + np.zeros(21), hi + np.zeros(21)
    for _ in range(40):
        m = (lo + hi) / 2
        below = m * m < np.concatenate([k, np.reshape(a, 1)])
        lo, hi = np.where(below, m, lo), np.where(below, hi, m)
    return lo[-1]


def grid_by_argmin(a, lo, hi):
    for _ in range(12):
        grid = np.linspace(lo, hi, 9)
        i = int(np.argmin(np.abs(f(grid, a))))
        lo, hi = grid[max(i - 1, 0)], grid[min(i + 1, 8)]
    return grid[i]


def grid_by_a_count(a, lo, hi):
    for _ in range(9):
        grid = np.linspace(lo, hi, 11)
        i = int(np.sum(f(grid, a) < 0))
        lo, hi = grid[i - 1], grid[i]
    return lo


def steps_by_signs(a, lo, hi):
    x, h = (lo + hi) / 3, (hi - lo) / 3
    for _ in range(40):
        x, h = x - h * np.sign(f(x, a)), h / 2
    return x


def steps_that_shorten(a, lo, hi):
    x, h = lo + 0.01, 0.1
    while h > 1e-7:
        if q(x + h, a) < q(x, a):
            x = x + h
        elif q(x - h, a) < q(x, a):
            x = x - h
        else:
            h = h / 2
    return x


SEARCHES = {
    **{f"halvings by {name}": halvings(below) for name, below in BELOW.items()},
    **{f"golden section by {name}": golden_section(left) for name, left in LEFT.items()},
    **{
        search.__name__: search
        for search in (intermediate_booleans, index_of_a_boolean, factors_of_a_boolean, quarters, whole_numbers,
                       products_in_a_stack, masks_in_a_stack, stack_with_constants, grid_by_argmin, grid_by_a_count,
                       steps_by_signs, steps_that_shorten)
    },
}  # fmt: skip
PROGRAMS = {
    "alone": lambda search: lambda a: search(a, 0.0, 10.0),
    "with another part": lambda search: lambda a: np.sin(a) + search(a, 0.0, 10.0),
    "ends depend": lambda search: lambda a: search(a, 0.003 + 0.0 * a, 5.0 * a),
}


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call()
    return value, any("selected by the comparisons" in str(w.message) for w in found)


@pytest.mark.parametrize(("search", "program"), list(itertools.product(SEARCHES, PROGRAMS)))
def test_search_is_told_however_it_is_spelled(search, program):
    run = PROGRAMS[program](SEARCHES[search])
    for a in (4.3, 2.71):
        (value, _), found = told(lambda a=a: ag.value_and_grad(run)(a))
        assert found, a
        assert value == pytest.approx(run(a), rel=1e-9)


@pytest.mark.parametrize("search", ["halvings by bool", "halvings by signbit", "whole_numbers", "halvings by product"])
def test_root_that_the_first_halving_hits(search):
    assert told(lambda: ag.grad(PROGRAMS["with another part"](SEARCHES[search]))(25.0))[1]


# -- comparisons that lose nothing -------------------------------------------------------------------------------------


def newton_until_equal(a):
    x = 1.0
    while True:
        new = x - (x * x - a) / (2 * x)
        if new == x or abs(new - x) < 1e-14:
            return new
        x = new


def many_newtons(a):
    x, total = 1.0, 0.0
    for k in range(6):
        for _ in range(12):
            step = f(x, a + k) / (2 * x)
            if abs(step) < 1e-12:
                break
            x = x - step
        total = total + x
    return total


def best_of_several_starts(a):
    starts = np.array([0.5, 1.5, 4.0])
    for _ in range(12):
        starts = starts - (starts**2 - a) / (2 * starts)
        best = np.argmin(np.abs(starts**2 - a))
    return starts[best]


def secant_by_signs(a):
    x0, x1 = 1.0, 3.0
    for _ in range(12):
        f0, f1 = f(x0, a), f(x1, a)
        if np.sign(f0) * np.sign(f1) == 0 or f0 == f1:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
    return x1


def largest_of_each_step(a):
    x, total = a, 0.0
    for k in range(30):
        x = max(0.5 * x, np.sin(x) / (k + 2.0))
        total = total + x
    return total


def lookup_in_rows(a):
    table, total = np.arange(20.0) ** 2, 0.0
    for k in range(12):
        x = a * 0.7**k
        n, step = 0, 16
        while step:
            if n + step < 20 and table[n + step] <= x:
                n += step
            step //= 2
        total = total + table[n] + (x - table[n]) * 0.5
    return total


def gaps_that_shrink(a):
    x = a * np.array([1.0, 0.9, 0.5, 0.2])
    for _ in range(25):
        order = np.argsort(x)
        x = 0.5 * (x[order] + np.mean(x))
    return x[0] * x[3]


ORDINARY = [
    newton_until_equal, many_newtons, best_of_several_starts, secant_by_signs, largest_of_each_step, lookup_in_rows,
    gaps_that_shrink,
]  # fmt: skip


@pytest.mark.parametrize("program", ORDINARY)
@pytest.mark.parametrize("a", [4.3, 2.2, 7.9])
def test_comparisons_that_lose_nothing_are_not_told(program, a):
    gradient, found = told(lambda: ag.grad(program)(a))
    assert not found
    assert gradient == pytest.approx((program(a + 1e-6) - program(a - 1e-6)) / 2e-6, rel=1e-4)
