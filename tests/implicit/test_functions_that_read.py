"""Functions that solvers call and that find recorded values elsewhere than among their arguments.

The class: where the value stands (an attribute, an attribute of an attribute, an item, a global, a slot, a property, a
default, a closure) x the solver x what else stands there (a value computed from another) x first and second order.
Each member is compared with the same problem whose function is given the value as an argument. And the ways in which
what is read may be another thing in backward, each of which is an error.
"""

import dataclasses
import types

import numpy as np
import pytest
from scipy import integrate as plain_integrate
from scipy import optimize as plain_optimize

import arraygrad as ag
from arraygrad.scipy import integrate, optimize

SPACE = {}


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    yield
    SPACE.clear()


def in_attribute(formula, k):
    return Model(formula, k).value


class Model:
    def __init__(self, formula, k):
        self.formula = formula
        self.k = k
        self.calls = 0

    def value(self, *at):
        self.calls += 1
        return self.formula(*at, self.k)

    def __call__(self, *at):
        return self.formula(*at, self.k)


class Holder:
    __slots__ = ("formula", "parts")

    def __init__(self, formula, parts):
        self.formula, self.parts = formula, parts

    def value(self, *at):
        return self.formula(*at, self.parts)


class Computed:
    def __init__(self, formula, k):
        self.formula, self._half = formula, 0.5 * k

    @property
    def k(self):
        return 2.0 * self._half

    def value(self, *at):
        return self.formula(*at, self.k)


@dataclasses.dataclass
class Parameters:
    k: object
    twice: object


def with_computed(formula, k):
    """Two attributes, one of which is computed from the other: both are read."""
    model = types.SimpleNamespace(parameters=Parameters(k, 2.0 * k))

    def value(*at):
        return formula(*at, model.parameters.twice - model.parameters.k)

    return value


def in_list(formula, k):
    held = [0.0, k]
    return lambda *at: formula(*at, held[1])


def in_dict(formula, k):
    held = {"rates": {"k": k}}
    return lambda *at: formula(*at, held["rates"]["k"])


def in_global(formula, k):
    SPACE["k"] = k
    return lambda *at: formula(*at, SPACE["k"])


def halves(a, b):
    return [halves(*pair) for pair in zip(a, b, strict=True)] if isinstance(a, list) else 0.5 * (a + b)


def in_closure_and_attribute(formula, k):
    model = Model(formula, k)
    return lambda *at: halves(formula(*at, k), model.value(*at))


PLACES = {
    "an attribute": in_attribute,
    "an attribute of what is called": Model,
    "an attribute beside a closure": in_closure_and_attribute,
    "a slot": lambda formula, k: Holder(formula, k).value,
    "an attribute behind a property": lambda formula, k: Computed(formula, k).value,
    "two attributes, one computed from the other": with_computed,
    "a list in the closure": in_list,
    "a dict in a dict": in_dict,
    "a global dict": in_global,
    "a closure": lambda formula, k: lambda *at: formula(*at, k),
    "a tuple in the closure": lambda formula, k: (lambda held: lambda *at: formula(*at, held[0]))((k, 1.0)),
    "a default": lambda formula, k: lambda *at, held=k: formula(*at, held),
}


def root(x, k):
    return np.exp(x) - k * k - 1.0


def slope(t, y, k):
    return [-k * y[0] * y[1], 0.3 * k * y[0]]


def cost(x, k):
    return np.sum((x - k) ** 2) + np.sum(x**4)


TIGHT = {"rtol": 1e-9, "atol": 1e-9}
SOLVERS = {
    "brentq": (root, lambda f: optimize.brentq(f, 0.0, 5.0)),
    "newton": (root, lambda f: optimize.newton(f, 1.0)),
    "fsolve": (root, lambda f: optimize.fsolve(f, np.ones(1))[0]),
    "root": (root, lambda f: optimize.root(f, np.ones(1)).x[0]),
    "implicit.root": (root, lambda f: ag.implicit.root(f)(1.0)),
    "implicit.fixed_point": (lambda x, k: 0.3 * np.cos(k * x), lambda f: ag.implicit.fixed_point(f)(0.2)),
    "minimize": (cost, lambda f: optimize.minimize(f, np.ones(2), tol=1e-12).x[0]),
    "implicit.minimize": (cost, lambda f: ag.implicit.minimize(f)(np.ones(2))[1]),
    "quad": (lambda x, k: np.exp(-k * x), lambda f: integrate.quad(f, 0.0, 1.0)[0]),
    "solve_ivp": (slope, lambda f: integrate.solve_ivp(f, (0.0, 1.0), [1.0, 0.5], **TIGHT).y[0, -1]),
    "implicit.solve_ivp": (slope, lambda f: ag.implicit.solve_ivp(f, (0.0, 1.0), np.array([1.0, 0.5])).y[0, -1]),
    "odeint": (
        lambda y, t, k: slope(t, y, k),
        lambda f: integrate.odeint(f, [1.0, 0.5], [0.0, 1.0], **TIGHT)[-1, 0],
    ),
    "implicit.linear_solve": (
        lambda x, k: k * x + x[::-1],
        lambda f: ag.implicit.linear_solve(f, np.asarray([1.0, 2.0]))[0],
    ),
}


def given(formula, solve):
    """The same problem with the value in the place of a closure, differentiated by differences of the solution."""

    def value(k):
        return float(solve(lambda *at: formula(*at, k)))

    return value


def differences(f, x, h):
    return (8 * (f(x + h) - f(x - h)) - f(x + 2 * h) + f(x - 2 * h)) / (12 * h)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", PLACES)
def test_first_and_second_derivatives_by_what_is_read(place, solver):
    formula, solve = SOLVERS[solver]
    k = 1.3
    f = lambda k: solve(PLACES[place](formula, k))
    first = ag.grad(f)
    # SciPy's minimize takes its gradients by differences: its solution is exact to 1e-8 alone.
    step, close = (1e-2, 1e-5) if solver == "minimize" else (1e-3, 2e-6)
    expected = differences(given(formula, solve), k, step)
    assert first(k) == pytest.approx(expected, rel=close)
    if solver in ("brentq", "root", "implicit.minimize", "implicit.solve_ivp"):
        assert ag.grad(first)(k) == pytest.approx(differences(first, k, 1e-3), rel=2e-5)


@pytest.mark.parametrize("solver", ["brentq", "quad", "solve_ivp"])
def test_adopted_methods_are_recorded_too(solver):
    formula, _ = SOLVERS[solver]
    solve = {
        "brentq": lambda f: plain_optimize.brentq(f, 0.0, 5.0),
        "quad": lambda f: plain_integrate.quad(f, 0.0, 1.0)[0],
        "solve_ivp": lambda f: plain_integrate.solve_ivp(f, (0.0, 1.0), [1.0, 0.5], **TIGHT).y[0, -1],
    }[solver]
    f = lambda k: solve(Model(formula, k).value)
    assert ag.grad(f, adopt=True)(1.3) == pytest.approx(differences(f, 1.3, 1e-3), rel=2e-6)


def test_what_the_object_counts_is_what_the_plain_run_counts_but_for_one_call():
    model, plain = Model(root, None), Model(root, 1.3)

    def f(k):
        model.k = k
        found = plain_optimize.brentq(model.value, 0.0, 5.0)
        model.n = model.calls
        return found

    ag.grad(f, adopt=True)(1.3)
    plain_optimize.brentq(plain.value, 0.0, 5.0)
    assert plain.calls <= model.n <= plain.calls + 1


def test_several_values_at_once_and_arrays():
    class Chain:
        def __init__(self, rates, start):
            self.rates, self.start = rates, start

        def slope(self, t, y):
            return np.stack([-self.rates[0] * y[0], self.rates[0] * y[0] - self.rates[1] * y[1]])

    def f(rates, start):
        chain = Chain(rates, start)
        return ag.implicit.solve_ivp(chain.slope, (0.0, 1.0), chain.start).y[1, -1]

    rates, start = np.asarray([1.0, 0.4]), np.asarray([1.0, 0.2])
    found = ag.grad(f, argnums=(0, 1))(rates, start)
    for i, array in enumerate((rates, start)):
        for j in range(2):

            def moved(v, i=i, j=j):
                arrays = [rates.copy(), start.copy()]
                arrays[i][j] = v
                return float(f(*arrays))

            assert found[i][j] == pytest.approx(differences(moved, array[j], 1e-3), rel=1e-6)


# What must not go unseen


def recorded(model, k):
    t = ag.tensor(k, requires_grad=True)
    model.k = t * 1.0
    return t, optimize.brentq(model.value, 0.0, 5.0)


def test_an_attribute_that_is_bound_anew_is_an_error():
    model = Model(root, None)
    _, x = recorded(model, 1.3)
    model.k = ag.tensor(2.0)
    with pytest.raises(RuntimeError, match=r"backward calls the function again, and .*k has another value now"):
        x.backward()


def test_a_loop_that_binds_an_attribute_is_an_error_or_right():
    model = Model(root, None)

    def f(k):
        total = 0.0
        for i in (1.0, 2.0):
            model.k = i * k
            total = total + optimize.brentq(model.value, 0.0, 5.0)
        return total

    with pytest.raises(RuntimeError, match="has another value now"):
        ag.grad(f)(1.3)


@pytest.mark.parametrize("leaf", [True, False])
def test_a_value_that_is_written_after_the_call_is_that_of_the_call(leaf):
    model = Model(lambda x, k: np.exp(x) - k[0], None)
    t = ag.tensor(np.asarray([4.0]), requires_grad=True)
    model.k = t if leaf else t * 1.0
    x = optimize.brentq(model.value, 0.0, 5.0)
    with ag.no_grad():
        model.k[0] = 9.0
    x.backward()
    assert t.grad.numpy() == pytest.approx([0.25], rel=1e-9)


def test_functions_in_a_closure_are_the_same_in_backward():
    def twice(x, k):
        return np.exp(x) - 2.0 * k

    def f(k, chosen=root):
        return optimize.brentq(lambda x: chosen(x, k) if chosen is root else twice(x, k), 0.0, 5.0)

    assert ag.grad(f)(1.3) == pytest.approx(2.6 / 2.69, rel=1e-9)


class Hidden:
    """What no look finds: the value comes out of a generator."""

    def __init__(self, k):
        def forever():
            while True:
                yield k

        self.source = forever()

    def value(self, x):
        return root(x, next(self.source))


def test_what_is_not_found_is_refused():
    with pytest.raises(TypeError, match="depends on a Tensor that requires grad and is not among its arguments"):
        ag.grad(lambda k: optimize.brentq(Hidden(k).value, 0.0, 5.0))(1.3)


def test_what_is_not_found_beside_what_is_found_is_refused():
    class Both(Hidden):
        def __init__(self, k):
            super().__init__(k)
            self.k = k * 1.0

        def value(self, x):
            return super().value(x) + 0.0 * self.k

    with pytest.raises(TypeError, match="where it reads it was not found"):
        ag.grad(lambda k: optimize.brentq(Both(k).value, 0.0, 5.0))(1.3)


@pytest.mark.parametrize("solver", ["quad", "solve_ivp"])
def test_a_jump_at_a_place_that_is_read_is_not_silently_left_out(solver):
    step = lambda x, k: 1.0 if x < k else 0.0
    solve = {
        "quad": lambda k: integrate.quad(Model(step, k).value, 0.0, 1.0)[0],
        "solve_ivp": lambda k: integrate.solve_ivp(
            Model(lambda t, y, k: y * 0.0 + step(t, k), k).value, (0.0, 1.0), [0.0], rtol=1e-6
        ).y[0, -1],
    }[solver]
    with pytest.warns(UserWarning, match="jump"):
        assert np.isnan(ag.grad(solve)(0.37))


def test_numbers_that_a_method_stores_are_warned_of():
    class Keeping(Model):
        def value(self, x):
            self.last = found = super().value(x)
            return found

    def f(k):
        model = Keeping(root, k)
        x = optimize.brentq(model.value, 0.0, 5.0)
        return x + model.last

    with pytest.warns(UserWarning, match="has stored numbers in"):
        ag.grad(f)(1.3)
