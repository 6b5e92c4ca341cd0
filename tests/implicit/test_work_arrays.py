"""Functions that are given to solvers and work in arrays that exist before they are called.

The class: where the array stands (an attribute, a class, a global, a closure, a default, an item of a list or a dict,
views of one memory) x the solver x what of it the function reads. Each member is compared with the same problem whose
function makes its array. What a call reads of what another has left is refused, in whatever way it is read, and a
program finds its arrays, objects and logs as the solver's own calls left them.
"""

import itertools
import types

import numpy as np
import pytest
from scipy import integrate, optimize

import arraygrad as ag

pytestmark = pytest.mark.filterwarnings("ignore:.*has stored numbers")
A = 1.3
WORK, SPACE, TABLES = np.zeros(2), {"work": np.zeros(2)}, [np.zeros(2), np.zeros(2)]
BACKWARDS = WORK[::-1]
LAST, COUNT = None, 0


def fresh(x, a):
    out = np.empty(2)
    out[0], out[1] = x[1] - 0.1 * x[0], -a * x[0] - 0.2 * x[1]
    return out


def filled(work, x, a):
    work[0] = x[1] - 0.1 * x[0]
    work[1] = -a * x[0] - 0.2 * x[1]
    return work


class Model:
    shared = np.zeros(2)

    def __init__(self):
        self.work = np.zeros(2)
        self.first, self.second = self.work[:1], self.work[1:]

    def in_attribute(self, x, a):
        return filled(self.work, x, a)

    def in_class(self, x, a):
        return filled(self.shared, x, a)

    def in_views(self, x, a):
        self.first[0] = x[1] - 0.1 * x[0]
        self.second[:] = -a * x[:1] - 0.2 * x[1:]
        return self.work


def in_global(x, a):
    return filled(WORK, x, a).copy()


def in_overlapping_globals(x, a):
    WORK[0] = x[1] - 0.1 * x[0]
    BACKWARDS[0] = -a * x[0] - 0.2 * x[1]
    return WORK


def in_default(x, a, work=np.zeros(2)):  # noqa: B008
    return filled(work, x, a)


def in_list(x, a):
    TABLES[0][:] = x
    return filled(TABLES[1], TABLES[0], a)


def in_dict(x, a):
    return filled(SPACE["work"], x, a)


def in_closure():
    work = np.zeros(2)

    def function(x, a):
        return filled(work, x, a)

    return function


def with_constant(x, a, work=np.array([0.0, 0.0, 1.0])):  # noqa: B008
    return filled(work, x, a)[:2] * work[2]


PLACES = {
    "an attribute": lambda: Model().in_attribute,
    "a class": lambda: Model().in_class,
    "views": lambda: Model().in_views,
    "a global": lambda: in_global,
    "overlapping globals": lambda: in_overlapping_globals,
    "a default": lambda: in_default,
    "a list": lambda: in_list,
    "a dict": lambda: in_dict,
    "a closure": in_closure,
    "beside a constant": lambda: with_constant,
}
Y0, T = [1.0, 0.3], (0.0, 1.0)


def ivp(method):
    def solve(f, a):
        found = integrate.solve_ivp(lambda t, y, a: f(y, a), T, Y0, args=(a,), method=method, rtol=1e-6, atol=1e-8)
        return (found.y[:, -1] ** 2).sum()

    return solve


def residual(f):
    return lambda x, a: f(x, a) + np.array([0.0, 1.0])


SOLVERS = {
    "RK45": ivp("RK45"),
    "LSODA": ivp("LSODA"),
    "odeint": lambda f, a: integrate.odeint(lambda y, t, a: f(y, a), Y0, [0.0, 0.5, 1.0], args=(a,))[-1].sum(),
    "root": lambda f, a: optimize.root(residual(f), Y0, args=(a,), tol=1e-12).x.sum(),
    "fsolve": lambda f, a: optimize.fsolve(f, Y0, args=(a,)).sum() + optimize.fsolve(residual(f), Y0, args=(a,)).sum(),
    "least_squares": lambda f, a: optimize.least_squares(
        residual(f), Y0, args=(a,), xtol=1e-12, ftol=1e-12, gtol=1e-12
    ).x.sum(),
    "minimize": lambda f, a: optimize.minimize(
        lambda x, a: (residual(f)(x, a) ** 2).sum(), Y0, args=(a,), tol=1e-10
    ).x.sum(),
    "quad": lambda f, a: integrate.quad(lambda x, a: f(np.array([x, x * x]), a).sum(), 0, 1, args=(a,))[0],
    "brentq": lambda f, a: optimize.brentq(lambda x, a: f(np.array([x, 1.0]), a).sum(), -9.0, 9.0, args=(a,)),
    "implicit.root": lambda f, a: ag.implicit.root(residual(f))(np.array(Y0), a).sum(),
}
# Each place with one solver, each solver with one place, and some pairs more.
MEMBERS = sorted(
    {(place, "RK45") for place in PLACES}
    | {("an attribute", solver) for solver in SOLVERS}
    | set(zip(PLACES, itertools.cycle(SOLVERS), strict=False))
)


@pytest.mark.parametrize(("place", "solver"), MEMBERS)
def test_work_arrays(place, solver):
    f = PLACES[place]()
    expected = ag.grad(lambda a: SOLVERS[solver](fresh, a))(A)
    for _ in range(2):  # what one gradient leaves does not change the next one
        np.testing.assert_allclose(ag.grad(lambda a: SOLVERS[solver](f, a))(A), expected, rtol=1e-4)
    for array in (WORK, BACKWARDS, SPACE["work"], *TABLES, Model.shared, in_default.__defaults__[0]):
        assert type(array) is np.ndarray
        assert np.all(np.isfinite(array))


def test_an_object_that_holds_the_parameter_and_the_array():
    class Oscillator:
        def __init__(self):
            self.d, self.n, self.log, self.last = np.zeros(2), 0, [], None

        def rhs(self, t, y):
            self.n += 1
            self.log.append(y)
            self.last = y
            return filled(self.d, y, self.a)

    one, plain = Oscillator(), Oscillator()

    def loss(a, model):
        model.a = a
        return ivp("RK45")(lambda y, a: model.rhs(0.0, y), a)

    expected = ag.grad(lambda a: SOLVERS["RK45"](fresh, a))(A)
    np.testing.assert_allclose(ag.grad(lambda a: loss(a, one))(A), expected, rtol=1e-4)
    loss(A, plain)
    assert (one.n, len(one.log)) == (plain.n, len(plain.log))
    assert {type(y) for y in (*one.log, one.last, one.d)} == {np.ndarray}
    np.testing.assert_array_equal(one.d, plain.d)
    np.testing.assert_array_equal(one.log, plain.log)


def test_values_of_the_parameter_are_stored_as_arrays():
    class Decay:
        def __init__(self):
            self.log, self.energy, self.found = [], None, {}

        def rhs(self, t, y):
            slope = -self.a * y
            self.log.append(slope)
            self.energy = self.found["energy"] = slope[0] * slope[1]
            return slope

    one, plain = Decay(), Decay()

    def loss(a, model):
        model.a = a
        return integrate.solve_ivp(model.rhs, T, Y0).y[:, -1].sum()

    np.testing.assert_allclose(ag.grad(lambda a: loss(a, one))(A), -sum(Y0) * np.exp(-A), rtol=1e-2)
    loss(A, plain)
    assert {type(v) for v in one.log} == {np.ndarray}
    assert type(one.energy) is type(one.found["energy"]) is np.float64
    np.testing.assert_array_equal(one.log, plain.log)
    assert one.energy == plain.energy


def test_second_derivatives():
    def value(a, f):
        return integrate.quad(lambda x: f(np.array([x, x * x]), a)[1] ** 2, 0.0, 1.0)[0]

    f = Model().in_attribute
    np.testing.assert_allclose(ag.grad(ag.grad(lambda a: value(a, f)))(A), 2 / 3, rtol=1e-8)


def test_float32_stays_float32():
    work = np.zeros(2, np.float32)
    found = ag.grad(lambda a: SOLVERS["RK45"](lambda x, a: filled(work, x, a), a))(A)
    np.testing.assert_allclose(found, ag.grad(lambda a: SOLVERS["RK45"](fresh, a))(A), rtol=1e-3)
    assert work.dtype == np.float32


# -- What a call reads of what another has left


def adding(x, a, work):
    work[0] += 0.01
    return fresh(x, a) + work[0]


def lagging(x, a, work):
    before = work[0]
    work[0] = x[0]
    return fresh(x, a) * before


def with_a_flag(x, a, work):
    if x[0] < 0.9:
        work[0] = 1.0
    return fresh(x, a) * (2.0 if work[0] == 1.0 else 1.0)


def with_a_largest(x, a, work):
    work[0] = max(x[0], work[0])
    return fresh(x, a) * work[0]


def beside_a_hidden_name(x, a, work):
    hidden = next(HIDDEN)
    filled(work, x, a)
    return hidden * 1.0


HIDDEN = itertools.repeat(TABLES[0])


@pytest.mark.parametrize("f", [adding, lagging, with_a_flag, with_a_largest])
def test_what_is_carried_from_call_to_call_is_refused(f):
    work = np.zeros(2)
    for _ in range(2):
        work[:] = 0.0
        with pytest.raises(RuntimeError, match=r"depends on what an earlier call has left in work"):
            ag.grad(lambda a: SOLVERS["RK45"](lambda x, a: f(x, a, work), a))(A)
        assert type(work) is np.ndarray


def test_memory_under_a_name_that_is_not_found_is_refused():
    with pytest.raises(RuntimeError, match=r"earlier call has left in .*or something else holds that memory"):
        ag.grad(lambda a: SOLVERS["RK45"](lambda x, a: beside_a_hidden_name(x, a, TABLES[0]), a))(A)


def test_numbers_and_lists_that_are_carried_are_refused():
    one = types.SimpleNamespace(last=0.0, log=[1.0])

    def with_a_number(x, a):
        before, one.last = one.last, 0.5 * one.last + 0.1
        return fresh(x, a) * (1.0 + before)

    def with_a_log(x, a):
        one.log.append(0.1 + 0.5 * one.log[-1])
        return fresh(x, a) * one.log[-1]

    for f in (with_a_number, with_a_log):
        with pytest.raises(RuntimeError, match=r"earlier call has left in one\."):
            ag.grad(lambda a, f=f: SOLVERS["RK45"](f, a))(A)


def test_an_error_in_the_middle_leaves_what_a_plain_run_leaves():
    model = Model()

    def failing(x, a):
        found = model.in_attribute(x, a)
        if isinstance(x, ag.Tensor):
            raise ZeroDivisionError
        return found

    with pytest.raises(ZeroDivisionError):
        ag.grad(lambda a: SOLVERS["RK45"](failing, a))(A)
    assert type(model.work) is np.ndarray
    assert np.all(np.isfinite(model.work))


# -- Caches, counters and names


def test_a_cache_of_the_last_value_is_computed_again():
    class Cost:
        def __init__(self):
            self.x = self.value = None

        def of(self, x, a):
            if self.x is None or not np.array_equal(x, self.x):
                self.x, self.value = np.array(x), ((x - a) ** 2).sum() + (x**4).sum()
            return self.value

    def solve(f, a):
        return optimize.minimize(f, Y0, args=(a,), tol=1e-10).x.sum()

    expected = ag.grad(lambda a: solve(lambda x, a: ((x - a) ** 2).sum() + (x**4).sum(), a))(A)
    np.testing.assert_allclose(ag.grad(lambda a: solve(Cost().of, a))(A), expected, rtol=1e-6)


def test_a_table_that_the_first_call_makes():
    one = types.SimpleNamespace(table=None)

    def f(x, a):
        if one.table is None:
            one.table = np.linspace(1.0, 2.0, 5)
        return fresh(x, a) * one.table[2]

    expected = ag.grad(lambda a: SOLVERS["RK45"](lambda x, a: fresh(x, a) * 1.5, a))(A)
    for _ in range(2):
        np.testing.assert_allclose(ag.grad(lambda a: SOLVERS["RK45"](f, a))(A), expected, rtol=1e-7)


def test_globals_and_closures_that_are_written():
    n, last = 0, None

    def f(x, a):
        global LAST, COUNT
        nonlocal n, last
        n, last = n + 1, x
        LAST, COUNT = x, COUNT + 1
        return fresh(x, a)

    expected = ag.grad(lambda a: SOLVERS["RK45"](fresh, a))(A)
    np.testing.assert_allclose(ag.grad(lambda a: SOLVERS["RK45"](f, a))(A), expected, rtol=1e-7)
    assert type(LAST) is type(last) is np.ndarray
    counts = n, COUNT
    ivp("RK45")(f, A)
    assert (n, COUNT) == (2 * counts[0], 2 * counts[1])
