"""Programs that choose by what a Tensor is, or search by comparisons: a transform warns; of others it does not.

Adopted, a program that chooses by a type takes the branch of the plain call, and is not warned of.

The class: question (isinstance of random classes, np.isscalar, a conversion that is tried) x argument; spelling of a
search x interval x function x what else depends on the argument; iterations that are differentiated right.
"""

import numbers
import warnings

import numpy as np

import arraygrad as ag

from .spelling import Spelling

CLASSES = (int, float, complex, str, list, tuple, dict, bool, np.floating, np.number, np.generic, np.ndarray,
           numbers.Number, numbers.Real, np.float32, np.float64, np.integer, object)  # fmt: skip
FUNCTIONS = {
    "m * m - a": (lambda m, a: m * m - a, 0.0, 10.0),
    "m ** 3 - a": (lambda m, a: m**3 - a, 0.0, 4.0),
    "np.exp(m) - a": (lambda m, a: np.exp(m) - a, -3.0, 5.0),
    "m * np.log(1 + m) - a": (lambda m, a: m * np.log(1.0 + m) - a, 0.0, 20.0),
}
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def bisection_by_an_if(f, a, lo, hi, n):
    for _ in range(n):
        m = (lo + hi) / 2
        if f(m, a) < 0:
            lo = m
        else:
            hi = m
    return m


def bisection_by_a_conditional(f, a, lo, hi, n):
    for _ in range(n):
        m = lo + 0.5 * (hi - lo)
        lo, hi = (lo, m) if f(m, a) > 0 else (m, hi)
    return lo


def bisection_by_products(f, a, lo, hi, n):
    for _ in range(n):
        m = (lo + hi) / 2
        if f(hi, a) * f(m, a) > 0:
            hi = m
        else:
            lo = m
    return hi


def bisection_by_signs(f, a, lo, hi, n):
    for _ in range(n):
        m = (lo + hi) / 2
        if np.sign(f(m, a)) < 0:
            lo = m
        else:
            hi = m
    return m


def bisection_by_where(f, a, lo, hi, n):
    for _ in range(n):
        m = (lo + hi) / 2
        below = np.less(f(m, a), 0.0)
        lo, hi = np.where(below, m, lo), np.where(below, hi, m)
    return lo


def golden_section(f, a, lo, hi, n):
    for _ in range(n):
        c, d = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
        if f(c, a) ** 2 < f(d, a) ** 2:
            hi = d
        else:
            lo = c
    return lo


def newton(f, a, lo, hi, n):
    x = 0.25 * lo + 0.75 * hi
    for _ in range(60):
        slope = (f(x + 1e-6, a) - f(x - 1e-6, a)) / 2e-6
        new = x - f(x, a) / slope
        if abs(new - x) < 1e-9:
            break
        x = new
    return new


def regula_falsi(f, a, lo, hi, n):
    fl, fh = f(lo, a), f(hi, a)
    for _ in range(200):
        m = (lo * fh - hi * fl) / (fh - fl)
        fm = f(m, a)
        if abs(fm) < 1e-12:
            break
        if fm * fl < 0:
            hi, fh = m, fm
        else:
            lo, fl = m, fm
    return m


SEARCHES = (bisection_by_an_if, bisection_by_a_conditional, bisection_by_products, bisection_by_signs,
            bisection_by_where, golden_section)  # fmt: skip
ITERATIONS = (newton, regula_falsi)
WORDS = ("adopt=True", "selected by the comparisons")


def told(f, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ag.vjp(f, x)
    return any(word in str(w.message) for w in found for word in WORDS)


def draw(rng):
    kind = str(rng.choice(["question", "search", "iteration"]))
    if kind == "question":
        return question(rng)
    name = str(rng.choice(list(FUNCTIONS)))
    f, lo, hi = FUNCTIONS[name]
    a = np.asarray(rng.uniform(0.5, 9.0))
    if kind == "iteration":
        solve = ITERATIONS[int(rng.integers(len(ITERATIONS)))]

        def program(a):
            return solve(f, a, lo, hi, 0)

        def ours(a):
            if told(program, a.numpy().copy()):
                raise AssertionError("is warned of")
            return program(a)

        return Spelling(f"{solve.__name__} of {name} at {a!r}", ours, program, (a,), rtol=1e-5, value_rtol=1e-8)
    search = SEARCHES[int(rng.integers(len(SEARCHES)))]
    n = int(rng.integers(32 if search is golden_section else 24, 60))  # to be told as one it has to come near
    depends = str(rng.choice(["a + root", "root * a", "ends"]))
    lo = lo + rng.uniform(0.0, 0.01)

    def search_of(a):
        if depends == "ends":
            return search(f, a, lo + 0.0 * a, hi + 0.0 * a, n)
        root = search(f, a, lo, hi, n)
        return a + root if depends == "a + root" else root * a

    def ours(a):
        if not told(search_of, a.numpy().copy()):
            raise AssertionError("went unsaid")
        return a * a

    return Spelling(f"{depends}, {search.__name__} of {name}, {n} times, at {a!r}", ours, lambda a: a * a, (a,))


def question(rng):
    classes = tuple(CLASSES[i] for i in rng.integers(len(CLASSES), size=rng.integers(1, 4)))
    asks = str(rng.choice(["isinstance", "isinstance | ", "np.isscalar"]))
    x = np.asarray(rng.uniform(0.5, 2.0, size=tuple(rng.integers(1, 3, size=rng.integers(0, 3)))))
    scalar = x.ndim == 0 and rng.random() < 0.5
    union = classes[0]
    for one in classes[1:]:
        union = union | one

    def asked(x):
        if asks == "isinstance":
            return isinstance(x, classes)
        if asks == "np.isscalar":
            return np.isscalar(x)
        return isinstance(x, union)

    def program(x):
        return np.sum(2.0 * x) if asked(x) else np.sum(x * x)

    def ours(x):
        given = x.numpy().copy()[()] if scalar else x.numpy().copy()
        differs = asked(x) != asked(given)
        with ag.set_adoption(False):
            if told(program, given) != differs:
                raise AssertionError("is told" if not differs else "went unsaid")
        found, expected = ag.grad(program)(given), 2.0 + 0.0 * given if asked(given) else 2.0 * given
        if not np.array_equal(found, expected):
            raise AssertionError(f"adopted, the gradient is {found}, that of the plain call's branch {expected}")
        return np.sum(x * x)

    what = f"{asks} of {classes} at the {'scalar' if scalar else 'array'} {x!r}"
    return Spelling(what, ours, lambda x: np.sum(x * x), (x,), dtypes=False)
