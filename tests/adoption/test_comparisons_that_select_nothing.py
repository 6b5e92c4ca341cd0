"""Comparisons of recorded values that come close to each other, and select nothing that the gradient would lack.

The class: walks through a table of layers x paths through them; tolerances of solvers that run one after the other x
solver x what is done else; integrals by halving where a tolerance is not met x spelling x integrand; searches
whose result decides nothing. Beside each the programs that look like it and search: these are told.
"""

import itertools
import linecache
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = call()
    return value, [w for w in found if "selected by the comparisons" in str(w.message)]


def check_right_and_not_told(f, x, rel=1e-4):
    gradient, found = told(lambda: ag.grad(f)(x))
    assert not found
    h = 1e-6
    differences = (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)
    assert gradient == pytest.approx(differences, rel=rel, abs=1e-6)


# -- layers of an atmosphere -------------------------------------------------------------------------------------------

H = [0.0, 11000.0, 20000.0, 32000.0, 47000.0, 51000.0, 71000.0, 84852.0]
T = [288.15, 216.65, 216.65, 228.65, 270.65, 270.65, 214.65, 186.9]
P = [101325.0, 22632.1, 5474.89, 868.019, 110.906, 66.9389, 3.95642, 0.37]


def formula(i, h):
    return P[i] * math.exp(-(h - H[i]) / (29.3 * T[i]))


def by_range(h):
    for i in range(len(H) - 1):
        if h >= H[i] and h < H[i + 1]:
            return formula(i, h)
    return formula(0, h)


def from_above(h):
    for i in reversed(range(len(H))):
        if h >= H[i]:
            break
    return formula(i, h)


def without_a_break(h):
    found = 0.0
    for i in range(len(H) - 1):
        if H[i] <= h < H[i + 1]:
            found = formula(i, h)
    return found


def by_a_while(h):
    i = 0
    while i < 7 and h > H[i + 1]:
        i += 1
    return formula(i, h)


def by_pairs(h):
    for i, (bottom, top) in enumerate(itertools.pairwise(H)):
        if bottom <= h < top:
            return formula(i, h)
    return formula(0, h)


def by_a_count(h):
    return formula(sum(1 for b in H[1:] if h > b), h)


def layer_by_layer(h):
    p = P[0]
    for i in range(len(H) - 1):
        if h > H[i + 1]:
            p = p * math.exp(-(H[i + 1] - H[i]) / (29.3 * T[i]))
        else:
            return p * math.exp(-(h - H[i]) / (29.3 * T[i]))
    return p


def falling(at):
    return lambda x: sum(at(30000.0 * x - 299.0 * k) for k in range(101)) / 1e5


def thrown(at):
    def f(x):
        h, v, total = 0.0, 600.0 * x, 0.0
        for _ in range(400):
            total += at(h)
            v = v - (9.8 + 1e-9 * at(h) * v * abs(v))
            h = h + v
            if h < 0:
                break
        return total / 1e5

    return f


def nearing_from_above(at):
    return lambda x: sum(at(11000.0 + 7000.0 * math.exp(-0.3 * k) + x) for k in range(40)) / 1e5


def nearing_from_below(at):
    return lambda x: sum(at(20000.0 - 7000.0 * math.exp(-0.3 * k) - x) for k in range(40)) / 1e5


def swinging(at):
    return lambda x: sum(at(11000.0 + 500.0 * x * math.cos(k) * 0.9**k) for k in range(60)) / 1e5


def swinging_about_x(at):
    return lambda x: sum(at(11000.0 + x + 5000.0 * math.cos(k) * 0.8**k) for k in range(60)) / 1e5


LAYERS = [by_range, from_above, without_a_break, by_a_while, by_pairs, by_a_count, layer_by_layer]
PATHS = [falling, thrown, nearing_from_above, nearing_from_below, swinging, swinging_about_x]


@pytest.mark.parametrize(("layers", "path"), list(itertools.product(LAYERS, PATHS)))
@pytest.mark.parametrize("x", [0.95, 1.3])
def test_path_through_layers_is_not_told(layers, path, x):
    check_right_and_not_told(path(layers), x)


def middles_beside_an_index(a):
    lo, hi, i, n = 0.0, 10.0, 0, [40]
    while i < n[i - i]:
        m = (lo + hi) / 2
        lo, hi = (m, hi) if m * m < a else (lo, m)
        i += 1
    return lo


def middles_by_a_while(a):
    lo, step, ends = 0.0, 10.0, [1e-9]
    while step > ends[0]:
        step = step / 2
        while (lo + step) ** 2 < a:
            lo = lo + step
    return lo


def index_of_no_table(a):
    i = 0
    while (i / 256) ** 2 < a:
        i += 1
    return i / 256


def table_of_middles(a):
    middles, lo, hi = [], 0.0, 10.0
    for i in range(40):
        middles.append((lo + hi) / 2)
        if middles[i] ** 2 < a:
            lo = middles[i]
        else:
            hi = middles[i]
    return lo


@pytest.mark.parametrize("search", [middles_beside_an_index, middles_by_a_while, table_of_middles, index_of_no_table])
def test_search_beside_an_index_is_told(search):
    def run(a):
        return sum(search(a * k) for k in (1.0, 0.9, 1.2)) + a

    assert told(lambda: ag.grad(run)(4.3))[1]


# -- tolerances --------------------------------------------------------------------------------------------------------


def solving(step, start, ends):
    """One equation after the other, each until `ends` says so."""

    def f(x):
        total = 0.0
        for k in range(1, 16):
            state = start(x, k)
            for _ in range(200):
                state, error = step(state, x, k)
                if ends(error):
                    break
            total = total + math.sin(state)
        return total

    return f


def kepler(state, x, k):
    new = 0.3 * k + x * math.sin(state)
    return new, abs(new - state)


def kepler_by_newton(state, x, k):
    step = (state - x * math.sin(state) - 0.3 * k) / (1 - x * math.cos(state))
    return state - step, abs(step)


def root_of_babylon(state, x, k):
    new = (state + x * k / state) / 2
    return new, abs(new - state)


def damped(state, x, k):
    new = state + 0.6 * (math.cos(x * state) - state) / k
    return new, abs(new - state) * k


def means(state, x, k):
    new = 0.5 * state + 0.5 * x * k
    return new, (new - state) ** 2


def smaller_than_a_number(error):
    return error < 1e-10


def not_larger(error):
    if error > 1e-10:
        return False
    else:
        return True


def smaller_than_a_part(error):
    return not error > 1e-12 * abs(error + 10.0)


def in_steps(error):
    return max(error, 0.5 * error) <= 3e-11


SOLVERS = {
    "kepler": (kepler, lambda x, k: 0.3 * k),
    "newton": (kepler_by_newton, lambda x, k: 0.3 * k),
    "babylon": (root_of_babylon, lambda x, k: 1.0),
    "damped": (damped, lambda x, k: 1.0),
    "means": (means, lambda x, k: 0.0),
}
ENDS = [smaller_than_a_number, not_larger, smaller_than_a_part, in_steps]


@pytest.mark.parametrize(("solver", "ends"), list(itertools.product(SOLVERS, ENDS)))
@pytest.mark.parametrize("x", [0.31, 0.62])
def test_tolerance_is_not_told(solver, ends, x):
    step, start = SOLVERS[solver]
    check_right_and_not_told(solving(step, start, ends), x)


def carlson(x):
    total = 0.0
    for k in range(1, 8):
        a, b, c = x, x * k, 1.0
        for _ in range(60):
            mean = (a + b + c) / 3
            if max(abs(a - mean), abs(b - mean), abs(c - mean)) > 1e-9:
                d = math.sqrt(a * b) + math.sqrt(b * c) + math.sqrt(a * c)
                a, b, c = (a + d) / 4, (b + d) / 4, (c + d) / 4
            else:
                break
        total += 1 / math.sqrt(mean)
    return total


@pytest.mark.parametrize("x", [0.31, 0.77, 2.9])
def test_tolerance_of_a_series_is_not_told(x):
    check_right_and_not_told(carlson, x)


def depth_that_is_cut_off(a):
    lo, hi = 0.0, 10.0
    for _ in range(50):
        m = (lo + hi) / 2
        if max(m * m - a, 0.0 * a) > 1e-9:
            hi = m
        else:
            lo = m
    return hi


def smooth_depth(a):
    lo, hi = 0.0, 10.0
    for _ in range(40):
        m = (lo + hi) / 2
        if math.log1p(math.exp(min(m * m - a, 30.0 + 0.0 * a))) > 0.5:
            hi = m
        else:
            lo = m
    return hi


def grids_that_are_refined(a):
    lo, step = 0.0, 1.0
    for _ in range(7):
        for k in range(40):
            m = lo + k * step
            if abs(m * m - a) < 8 * step:
                break
        lo, step = m, step / 8
    return lo


def time_until_it_is_cold(a):
    total = 0.0
    for room in (1.0, 1.1, 1.2, 1.3):
        t, warm = 0.0, 100.0 * room
        while True:
            warm = 100.0 * room - a * t
            if max(warm, 0.0 * a) > 20.0:
                t = t + 0.1
            else:
                break
        total = total + t
    return total


def sizes_of_both_signs(a):
    lo, hi = 0.0, 10.0
    for _ in range(50):
        m = (lo + hi) / 2
        if m * m - a > 1e-12:
            hi = m
        else:
            lo = m
    return hi


def searches_that_begin_anew(a):
    total = 0.0
    for k in range(3):
        lo, hi = 0.0, 10.0 + k
        for _ in range(30):
            m = (lo + hi) / 2
            if max(m * m - a, 0.0 * a) > 1e-9:
                hi = m
            else:
                lo = m
        total = total + hi
    return total


def bound_that_is_recorded(a):
    lo, hi = 0.0, 10.0
    for _ in range(50):
        m = (lo + hi) / 2
        if a + m * m > 2.0 * a:
            hi = m
        else:
            lo = m
    return hi


def steps_that_go_back(a):
    m, step = 0.0, 1.0
    for _ in range(60):
        if max(a - m * m, 0.0 * a) > 1e-6:
            m = m + step
        else:
            m, step = m - step, step / 2
    return m


@pytest.mark.parametrize(
    "search",
    [depth_that_is_cut_off, smooth_depth, grids_that_are_refined, time_until_it_is_cold, sizes_of_both_signs,
     searches_that_begin_anew, bound_that_is_recorded, steps_that_go_back],
)  # fmt: skip
@pytest.mark.parametrize("a", [4.3, 2.71])
def test_search_beside_a_tolerance_is_told(search, a):
    assert told(lambda: ag.grad(lambda a: a + search(a))(a))[1]


# What decides a bisection for a root of v -> whether the root lies below: sizes that are compared with a bound, too.
DECIDING = {
    "cut off": lambda v, a: max(v, 0.0 * a) > 1e-9,
    "cut off on the other side": lambda v, a: not max(-v, 0.0 * a) > 1e-9,
    "cut off and squared": lambda v, a: max(v, 0.0 * a) ** 2 > 1e-9,
    "bound on the left": lambda v, a: 1e-9 < max(v, 0.0 * a),
    "exponential": lambda v, a: math.exp(min(20.0 + 0.0 * a, v)) > 1.0,
    "smooth": lambda v, a: (math.sqrt(v * v + 1e-12) + v) / 2 > 1e-9,
}
FROM = {
    "constants": lambda a, k: (0.0, 10.0),
    "other constants each time": lambda a, k: (0.0, 10.0 + k),
    "the argument": lambda a, k: (0.0 * a, 5.0 * a),
    "near": lambda a, k: (1.0, 3.0),
}


@pytest.mark.parametrize(("below", "ends"), list(itertools.product(DECIDING, FROM)))
@pytest.mark.parametrize("times", [1, 2, 5])
def test_searches_by_sizes_are_told(below, ends, times):
    def f(a):
        total = a
        for k in range(times):
            lo, hi = FROM[ends](a, k)
            for _ in range(30):
                m = (lo + hi) / 2
                if DECIDING[below](m * m - a * (1 + 0.1 * k), a):
                    hi = m
                else:
                    lo = m
            total = total + hi
        return total

    assert told(lambda: ag.grad(f)(2.3))[1]


# -- integrals by halving ----------------------------------------------------------------------------------------------


def simpson(f, a, fa, m, fm, b, fb):
    return (b - a) / 6 * (fa + 4 * fm + fb)


def by_the_book(f, a, fa, m, fm, b, fb, whole, tolerance, depth=0):
    lm, rm = (a + m) / 2, (m + b) / 2
    flm, frm = f(lm), f(rm)
    left, right = simpson(f, a, fa, lm, flm, m, fm), simpson(f, m, fm, rm, frm, b, fb)
    delta = left + right - whole
    if abs(delta) <= 15 * tolerance or depth > 30:
        return left + right + delta / 15
    return by_the_book(f, a, fa, lm, flm, m, fm, left, tolerance / 2, depth + 1) + by_the_book(
        f, m, fm, rm, frm, b, fb, right, tolerance / 2, depth + 1
    )


def with_an_else(f, a, fa, m, fm, b, fb, whole, tolerance, depth=0):
    lm, rm = (a + m) / 2, (m + b) / 2
    flm, frm = f(lm), f(rm)
    left, right = simpson(f, a, fa, lm, flm, m, fm), simpson(f, m, fm, rm, frm, b, fb)
    error = (whole - (left + right)) / 15.0
    depth += 1
    if depth < 30 and abs(error) > tolerance:
        return with_an_else(f, a, fa, lm, flm, m, fm, tolerance=tolerance / 2, whole=left, depth=depth) + with_an_else(
            f, m, fm, rm, frm, b, fb, right, tolerance / 2, depth
        )
    else:
        return left + right


class Rule:
    """A method that halves."""

    def halved(self, f, a, b, fa, fb, coarse, tolerance, depth=0):
        m = 0.5 * (a + b)
        fm = f(m)
        left, right = (m - a) / 2 * (fa + fm), (b - m) / 2 * (fm + fb)
        fine = left + right
        if depth > 12 or math.fabs(fine - coarse) < tolerance:
            return fine
        return self.halved(f, a, m, fa, fm, left, tolerance / 2, depth + 1) + self.halved(
            f, m, b, fm, fb, right, tolerance / 2, depth + 1
        )


def of_a_method(f, a, fa, m, fm, b, fb, whole, tolerance):
    return Rule().halved(f, a, b, fa, fb, (b - a) / 2 * (fa + fb), 1e3 * tolerance)


def without_names(f, a, fa, m, fm, b, fb, whole, tolerance, depth=0):
    lm, rm = (a + m) / 2, (m + b) / 2
    flm, frm = f(lm), f(rm)
    fine = simpson(f, a, fa, lm, flm, m, fm) + simpson(f, m, fm, rm, frm, b, fb)
    if abs(fine - whole) < 15 * tolerance or depth > 30:
        return fine
    left, right = simpson(f, a, fa, lm, flm, m, fm), simpson(f, m, fm, rm, frm, b, fb)
    return without_names(f, a, fa, lm, flm, m, fm, left, tolerance / 2, depth + 1) + without_names(
        f, m, fm, rm, frm, b, fb, right, tolerance / 2, depth + 1
    )


def integral(rule, integrand):
    def f(x):
        def g(t):
            return integrand(t, x)

        ends = 0.0, g(0.0), 0.5, g(0.5), 1.0, g(1.0)
        return rule(g, *ends, simpson(g, *ends), 1e-9)

    return f


INTEGRANDS = {
    "kink": lambda t, x: abs(t - x),
    "bell": lambda t, x: math.exp(-x * t * t),
    "peak": lambda t, x: 1e-2 / (1e-2 + (t - x) ** 2),
    "root": lambda t, x: math.sqrt(t + 0.001) * x,
    "wave": lambda t, x: math.sin(9 * x * t),
}


@pytest.mark.parametrize("integrand", INTEGRANDS)
@pytest.mark.parametrize("x", [0.31, 0.77])
@pytest.mark.parametrize("rule", [by_the_book, with_an_else, without_names, of_a_method])
def test_integral_by_halving_is_not_told(rule, integrand, x):
    check_right_and_not_told(integral(rule, INTEGRANDS[integrand]), x)


def halves_that_are_chosen(lo, hi, a):
    m = (lo + hi) / 2
    error = m * m - a
    if abs(error) < 1e-9:
        return m
    elif error < 0:
        return halves_that_are_chosen(m, hi, a)
    else:
        return halves_that_are_chosen(lo, m, a)


def areas_of_a_sign(lo, hi, a, depth=0):
    m = (lo + hi) / 2
    size = m * m - a
    if abs(size) < 2 * hi * (hi - lo) and depth < 20:
        return areas_of_a_sign(lo, m, a, depth + 1) + areas_of_a_sign(m, hi, a, depth + 1)
    else:
        return (hi - lo) * (size < 0)


def intervals_between_signs(lo, hi, a, depth=0):
    low, high = lo * lo - a, hi * hi - a
    m = (lo + hi) / 2
    if abs(low - high) > abs(low + high) and depth < 25:
        return intervals_between_signs(lo, m, a, depth + 1) + intervals_between_signs(m, hi, a, depth + 1)
    return 0.0 * low + (hi - lo if low < 0 else 0.0)


def middles_that_are_added(lo, hi, a, depth=0):
    m = (lo + hi) / 2
    if abs(m - a / 10) < (hi - lo) / 2 and depth < 20:
        return middles_that_are_added(lo, m, a, depth + 1) + middles_that_are_added(m, hi, a, depth + 1)
    return m


def recorded_middles(lo, hi, a, depth=0):
    m = (lo + hi) / 2 + 0.0 * a
    b = a / 10
    if abs(m - b) < (hi - lo) / 2 and depth < 20:
        return recorded_middles(lo, m, a, depth + 1) + recorded_middles(m, hi, a, depth + 1)
    return m


def recorded_middles_of_a(lo, hi, a, depth=0, scale=10):
    m = (lo + hi) / 2 * scale + 0.0 * a
    if abs(m - a) < (hi - lo) / 2 * scale and depth < 20:
        return recorded_middles_of_a(lo, m / scale, a, depth + 1) + recorded_middles_of_a(m / scale, hi, a, depth + 1)
    return m


@pytest.mark.parametrize(
    "search",
    [halves_that_are_chosen, areas_of_a_sign, intervals_between_signs, middles_that_are_added, recorded_middles,
     recorded_middles_of_a],
)  # fmt: skip
@pytest.mark.parametrize("a", [99.9])
def test_search_beside_an_integral_is_told(search, a):
    assert told(lambda: ag.grad(lambda a: a + search(0.0, 10.0, a))(a))[1]


# -- searches whose result decides nothing -----------------------------------------------------------------------------


class Keeps:
    """What functions store values in."""


KEEPS = Keeps()


def bisection(name, start, inside, after):
    """A program that looks for the root of `a`: what it begins with, does in each step, and does with what it found."""
    lines = [start, "for _ in range(40):", "    m = (lo + hi) / 2", "    if m * m < a:", "        lo = m", "    else:",
             "        hi = m", *[f"    {line}" for line in inside], *after]  # fmt: skip
    text = "\n".join([f"def {name}(a):", *[f"    {line}" for line in lines], ""])
    file = f"{name}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), globals())
    return globals()[name]


LO_HI = "lo, hi = 0.0, 10.0"
shown = bisection("shown", LO_HI, [], ["print(f'root between {lo} and {hi}')", "return a * a"])
returned = bisection("returned", LO_HI, [], ["return a * a + lo"])
returned_as_another = bisection("returned_as_another", LO_HI, ["last = m"], ["return a * a + last"])
deciding = bisection("deciding", f"{LO_HI}; n = 0.0", ["if lo > 1.0:", "    n = lo"], ["return a * a + n"])
kept_in_an_attribute = bisection("kept_in_an_attribute", LO_HI, [], ["KEEPS.root = lo", "return a * a"])
kept_in_a_list = bisection("kept_in_a_list", f"{LO_HI}; found = []", ["found.append(lo)"], ["return a * a + found[-1]"])
kept_by_a_function = bisection(
    "kept_by_a_function", LO_HI, [], ["def root():", "    return lo", "return a * a + root()"]
)


def asserted(a):
    lo, hi = 0.0, 10.0
    while hi - lo > 1e-9:
        m = 0.5 * (lo + hi)
        if m**2 > a:
            hi = m
        else:
            lo = m
    if hi < 0.0:
        raise ValueError(hi)
    return math.sin(a)


def left_behind(a):
    width, lo, hi = 10.0, 0.0, 10.0
    for _ in range(40):
        width = width / 2
        if (lo + width) ** 2 <= a:
            lo, hi = lo + width, hi
    print(lo + hi)
    return 3.0 * a


def read_from_an_attribute(a):
    kept_in_an_attribute(a)
    return a * a + KEEPS.root


def kept_in_a_global(a):
    global LOW
    LOW, hi = 0.0, 10.0
    for _ in range(40):
        m = (LOW + hi) / 2
        if m * m < a:
            LOW = m
        else:
            hi = m
    return a * a


def read_from_a_global(a):
    kept_in_a_global(a)
    return a * a + LOW


def written_in_place(a):
    ends = np.array([0.0, 10.0])
    for _ in range(40):
        m = (ends[0] + ends[1]) / 2
        if m * m < a:
            ends[0] = m
        else:
            ends[1] = m
    return a * a + ends[0]


def counted(a):
    lo, hi, n = 0.0, 10.0, 0.0
    for _ in range(40):
        m = (lo + hi) / 2
        if m * m < a:
            lo = m
        else:
            hi = m
            n += hi
    return a * a + n


def yielded(a):
    def ends():
        lo, hi = 0.0, 10.0
        for _ in range(40):
            m = (lo + hi) / 2
            if m * m < a:
                lo = m
            else:
                hi = m
            yield lo

    return a * a + list(ends())[-1]


@pytest.mark.parametrize("search", [shown, asserted, left_behind])
@pytest.mark.parametrize("a", [4.3, 2.71])
def test_search_that_decides_nothing_is_not_told(search, a):
    check_right_and_not_told(search, a)


@pytest.mark.parametrize(
    "search",
    [returned, returned_as_another, deciding, kept_in_an_attribute, read_from_an_attribute, kept_in_a_list,
     kept_by_a_function, kept_in_a_global, read_from_a_global, written_in_place, counted, yielded],
)  # fmt: skip
@pytest.mark.parametrize("a", [4.3, 2.71])
def test_search_that_decides_something_is_told(search, a):
    assert told(lambda: ag.grad(search)(a))[1]
