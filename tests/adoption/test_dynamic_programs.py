"""Dynamic programs: the least or largest of a few sums at each place, which is no search and has its derivative."""

import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

rng = np.random.default_rng(0)
B = np.sort(rng.normal(size=14))


def warping(a, b):
    n = len(a)
    d = np.full((n + 1, n + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            d[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, n]


def editing(a):
    n = len(a)
    d = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        d[i, 0] = d[0, i] = 0.5 * i
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            change = d[i - 1, j - 1] + abs(a[i - 1] - B[j - 1])
            d[i, j] = min(d[i - 1, j] + 0.5, d[i, j - 1] + 0.5, change)
    return d[n, n]


def shortest_path(w):
    n = 6
    weights = np.abs(np.outer(w[:n], w[:n])) + 0.1
    d = [0.0] + [np.inf] * (n - 1)
    for _ in range(n):
        for i in range(n):
            for j in range(n):
                if d[i] + weights[i, j] < d[j]:
                    d[j] = d[i] + weights[i, j]
    return d[n - 1]


def all_paths(w):
    n = 5
    d = np.abs(np.add.outer(w[:n], -w[:n])) + 0.3 * np.ones((n, n)) * (1 + w[0] ** 2)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return np.sum(d)


def knapsack(v):
    best = [0.0] * 11
    for i in range(len(v)):
        for c in range(10, i % 3, -1):
            best[c] = max(best[c], best[c - i % 3 - 1] + v[i])
    return best[10]


def viterbi(a):
    s = [a[0], a[1]]
    for t in range(2, len(a)):
        s = [max(s[0] + 0.5 * a[t], s[1] - 0.1), max(s[1] + 0.3 * a[t - 1], s[0] - 0.2)]
    return max(s)


def tropical(w):
    x = w * 1.0
    for _ in range(12):
        x = np.array([min(x[i], x[(i + 1) % len(w)]) + 0.1 * abs(w[i]) for i in range(len(w))])
    return np.sum(x)


def common_subsequence(a):
    n = len(a)
    d = np.zeros((n + 1, n + 1))
    for i in range(n):
        for j in range(n):
            d[i + 1, j + 1] = max(d[i, j] + math.exp(-((a[i] - B[j]) ** 2)), d[i + 1, j], d[i, j + 1])
    return d[n, n]


def largest_sum(a):
    s = best = 0.0
    for v in a:
        s = max(0.0, s + v)
        best = max(best, s)
    return best


def american_option(s):
    v = [max(x - 0.1, 0.0) for x in s]
    for k in range(len(s) - 1, 0, -1):
        v = [max(0.99 * (0.5 * v[i] + 0.5 * v[i + 1]), s[i] - 0.1) for i in range(k)]
    return v[0]


PROGRAMS = {
    "warping": lambda a: warping(a, B),
    "warping backwards": lambda a: warping(a, a[::-1]),
    "editing": editing,
    "shortest path": shortest_path,
    "all paths": all_paths,
    "knapsack": knapsack,
    "viterbi": viterbi,
    "tropical": tropical,
    "common subsequence": common_subsequence,
    "largest sum": largest_sum,
    "american option": american_option,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_search_is_seen_and_the_gradient_is_right(name, seed):
    f, a = PROGRAMS[name], np.random.default_rng(seed).normal(size=14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = ag.grad(f)(a)
    for i in range(14):
        step = np.zeros(14)
        step[i] = 1e-7
        assert gradient[i] == pytest.approx((f(a + step) - f(a - step)) / 2e-7, abs=1e-5)


def quadratic(x, a):
    return (x - a) ** 2 + 0.1 * (x - a) ** 4


def by_the_least(a, lo, hi):
    for _ in range(40):
        c, d = lo + 0.382 * (hi - lo), lo + 0.618 * (hi - lo)
        best = min(quadratic(c, a), quadratic(d, a))
        if best == quadratic(c, a):
            hi = d
        else:
            lo = c
    return 0.5 * (lo + hi)


def by_the_least_at_once(a, lo, hi):
    for _ in range(40):
        c, d = lo + 0.382 * (hi - lo), lo + 0.618 * (hi - lo)
        lo, hi = (lo, d) if min(quadratic(c, a), quadratic(d, a)) == quadratic(c, a) else (c, hi)
    return 0.5 * (lo + hi)


def by_pairs(a, lo, hi):
    for _ in range(40):
        c, d = lo + 0.382 * (hi - lo), lo + 0.618 * (hi - lo)
        best = min((quadratic(c, a), lo, d), (quadratic(d, a), c, hi))
        lo, hi = best[1:]
    return 0.5 * (lo + hi)


@pytest.mark.parametrize("search", [by_the_least, by_the_least_at_once, by_pairs])
def test_a_search_by_the_least_of_two_values_is_told(search):
    with pytest.warns(UserWarning, match="as a bisection or a golden section search does"):
        ag.grad(lambda a: search(a, 0.0, 3.0 + 0.1 * a))(1.3)
