"""Functions that backward calls again: as they were when a solver called them, or an error names what has changed.

Imports arraygrad, arraygrad.scipy, autograd.function_snapshots.
"""

import array
import contextvars
import fractions
import functools
import types

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd.closed_functions import closed, names_in

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy.sparse.linalg import LinearOperator

from arraygrad.scipy import integrate, interpolate, optimize
from arraygrad.scipy.sparse import linalg as sparse

A, KS, STEP = 0.7, (1.0, 2.0, 3.0), 1e-5
ONE = np.array([1.0])

# (a, k) -> a number, by a function that reads `a` and k in its closure.
SOLVERS = {
    "quad": lambda a, k: integrate.quad(lambda x: np.exp(a * x * k()), 0, 1)[0],
    "quad, args": lambda a, k: integrate.quad(lambda x, a: np.exp(a * x * k()), 0, 1, args=(a,))[0],
    "quad_vec": lambda a, k: integrate.quad_vec(lambda x: np.exp(a * x * k()) * np.arange(1.0, 3.0), 0, 1)[0].sum(),
    "dblquad": lambda a, k: integrate.dblquad(lambda y, x: np.exp(a * x * y * k()), 0, 1, 0, 1)[0],
    "dblquad, its limit": lambda a, k: integrate.dblquad(lambda y, x: np.exp(a * x), 0, 1, 0, lambda x: k() + x)[0],
    "tplquad": lambda a, k: integrate.tplquad(lambda z, y, x: a * k() * x * y + z, 0, 1, 0, 1, 0, 1)[0],
    "nquad": lambda a, k: integrate.nquad(lambda x, y: a * k() * x + y, [(0, 1), (0, 1)])[0],
    "tanhsinh": lambda a, k: integrate.tanhsinh(lambda x, a: np.exp(a * x * k()), 0, 1, args=(a,)).integral,
    "nsum": lambda a, k: integrate.nsum(lambda x, a: a**2 * k() / x**3, 1, 50, args=(a,)).sum,
    "solve_ivp": lambda a, k: integrate.solve_ivp(
        lambda t, y: -a * k() * y, (0, 1), ONE, rtol=1e-9, atol=1e-9).y[0, -1],
    "solve_ivp, an event": lambda a, k: integrate.solve_ivp(
        lambda t, y: -a * y, (0, 9), ONE, rtol=1e-10, atol=1e-10, events=lambda t, y: y[0] - 0.2 * k()).t_events[0][0],
    "odeint": lambda a, k: integrate.odeint(
        lambda y, t: -a * k() * y, ONE, np.array([0.0, 1.0]), rtol=1e-10, atol=1e-10)[-1, 0],
    "brentq": lambda a, k: optimize.brentq(lambda x: x**3 * k() - a, 0, 5, xtol=1e-13),
    "newton": lambda a, k: optimize.newton(lambda x: x**3 * k() - a, 1.0, tol=1e-13),
    "root_scalar": lambda a, k: optimize.root_scalar(lambda x: x**3 * k() - a, bracket=(0, 5), xtol=1e-13).root,
    "root": lambda a, k: optimize.root(lambda x: x**3 * k() - a, ONE, tol=1e-13).x[0],
    "fsolve": lambda a, k: optimize.fsolve(lambda x: x**3 * k() - a, ONE, xtol=1e-13)[0],
    "fixed_point": lambda a, k: optimize.fixed_point(lambda x: np.cos(a * x) / k(), 0.5, xtol=1e-13),
    "minimize": lambda a, k: optimize.minimize(lambda x: ((x * k() - a) ** 2).sum(), ONE, tol=1e-10).x[0],
    "minimize_scalar": lambda a, k: optimize.minimize_scalar(lambda x: (x * k() - a) ** 2, tol=1e-10).x,
    "least_squares": lambda a, k: optimize.least_squares(lambda x: x * k() - a, ONE, xtol=1e-14, gtol=1e-14).x[0],
    "curve_fit": lambda a, k: optimize.curve_fit(
        lambda t, p: p * t * k(), np.arange(1.0, 4.0), a * np.arange(1.0, 4.0), ONE)[0][0],
    "implicit.root": lambda a, k: ag.implicit.root(lambda x, a: x**3 * k() - a)(ONE, a)[0],
    "implicit.minimize": lambda a, k: ag.implicit.minimize(lambda x, a: ((x * k() - a) ** 2).sum())(ONE, a)[0],
    "implicit.fixed_point": lambda a, k: ag.implicit.fixed_point(lambda x, a: np.cos(a * x) / k())(ONE * 0.5, a)[0],
    "implicit.solve_ivp": lambda a, k: ag.implicit.solve_ivp(
        lambda t, y, a: -a * k() * y, (0.0, 1.0), ONE, (a,), rtol=1e-9, atol=1e-9).y[0, -1],
    "implicit.linear_solve": lambda a, k: ag.implicit.linear_solve(lambda x, a: x * k() + a * x, ONE, args=(a,))[0],
    "checkpoint": lambda a, k: ag.checkpoint(lambda a: np.sin(a * k()))(a),
}  # fmt: skip


def summed(solver, a):
    """Over a loop, whose variable the functions read: in backward it has its last value."""
    total = 0.0
    for k in KS:

        def read():
            return k  # noqa: B023 (what is tested)

        total = total + SOLVERS[solver](a, read)
    return total


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_variables_of_a_loop_have_the_values_of_the_call(solver):
    found = float(ag.grad(functools.partial(summed, solver))(A))
    difference = (float(summed(solver, A + STEP)) - float(summed(solver, A - STEP))) / (2 * STEP)
    np.testing.assert_allclose(found, difference, rtol=2e-4)


def test_a_linear_operator_reads_the_values_of_the_call():
    def f(b):
        total = 0.0
        for k in KS:
            operator = LinearOperator((2, 2), matvec=lambda x, k=k: k * x, dtype=float)
            total = total + sparse.cg(operator, b, rtol=1e-12)[0].sum()
        return total

    np.testing.assert_allclose(ag.grad(f)(np.array([1.0, 2.0])), sum(1 / k for k in KS))


def test_second_derivatives_have_the_values_of_the_call():
    found = ag.grad(ag.grad(functools.partial(summed, "quad")))(A)
    step = 1e-3
    at = [float(summed("quad", A + d)) for d in (-step, 0.0, step)]
    np.testing.assert_allclose(found, (at[0] - 2 * at[1] + at[2]) / step**2, rtol=1e-4)


def backward_after(change, integrand):
    """The gradient of an integral after `change()` has run."""
    a = ag.tensor(A, requires_grad=True)
    value = integrate.quad(lambda x: integrand(a, x), 0, 1)[0]
    change()
    (gradient,) = ag.autograd.grad(value, [a])
    return float(gradient)


SCALE = 2.0


def set_scale(value):
    global SCALE
    SCALE = value


def test_a_global_that_has_changed_is_an_error_that_names_it():
    set_scale(2.0)
    assert backward_after(lambda: set_scale(2.0), lambda a, x: a * SCALE * x) == pytest.approx(1.0)
    with pytest.raises(RuntimeError, match=r"scipy\.integrate\.quad: .*SCALE has another value now"):
        backward_after(lambda: set_scale(3.0), lambda a, x: a * SCALE * x)


class Model:
    def __init__(self):
        self.rate, self.calls, self.log, self.buffer = 2.0, 0, [], np.zeros(1)

    def of(self, a, x):
        self.calls += 1
        self.log.append(x)
        np.multiply(self.rate, x, out=self.buffer)
        return a * float(self.buffer[0])


def test_attributes_are_compared_but_not_those_that_the_function_writes():
    model = Model()
    with pytest.warns(UserWarning, match="has stored numbers"):
        assert backward_after(lambda: None, model.of) == pytest.approx(1.0)
    assert model.calls == len(model.log) == 21  # what backward's calls leave goes
    with pytest.warns(UserWarning, match="has stored numbers"), pytest.raises(RuntimeError, match=r"self\.rate has"):
        backward_after(lambda: setattr(model, "rate", 5.0), model.of)


@pytest.mark.parametrize("holder", [{"rate": 2.0}, types.SimpleNamespace(rate=2.0), [2.0], np.array([2.0])])
def test_what_containers_hold_is_compared(holder):
    def rate():
        return holder.rate if hasattr(holder, "rate") else holder["rate"] if isinstance(holder, dict) else holder[0]

    def change():
        if hasattr(holder, "rate"):
            holder.rate = 5.0
        else:
            holder["rate" if isinstance(holder, dict) else 0] = 5.0

    assert backward_after(lambda: None, lambda a, x: a * rate() * x) == pytest.approx(1.0)
    with pytest.raises(RuntimeError, match=r"another value now|was written"):
        backward_after(change, lambda a, x: a * rate() * x)


def test_a_counter_by_nonlocal_counts_forward_and_is_not_compared():
    n = 0
    a = ag.tensor(A, requires_grad=True)

    def integrand(x):
        nonlocal n
        n += 1
        return a * x

    value = integrate.quad(integrand, 0, 1)[0]
    assert n == 21
    assert float(ag.autograd.grad(value, [a])[0]) == pytest.approx(0.5)


def test_a_copy_keeps_recursion_defaults_names_and_empty_cells():
    k = 3

    def power(x, n=2, *, scale=1.0):
        """Doc."""
        return scale if n == 0 else k * x * power(x, n - 1, scale=scale)

    copy = closed(power)
    k = 100
    assert copy(2.0) == 36.0
    assert copy(2.0, 1, scale=2.0) == 12.0
    assert (copy.__name__, copy.__doc__, copy.__qualname__) == (power.__name__, power.__doc__, power.__qualname__)
    assert power(1.0, 1) == 100.0

    later = closed(lambda: unassigned)
    unassigned = 4
    assert later() == 4
    assert closed(np.sin) is np.sin
    assert closed(functools.partial(power, n=1))(1.0) == 100.0


def test_a_cell_that_functions_write_stays_one_cell():
    n = 0

    def count():
        nonlocal n
        n += 1

    def f():
        count()
        return n

    copy = closed(f)
    assert [copy(), f(), copy()] == [1, 2, 3]


LAWS = {"linear": lambda x: x, "square": lambda x: x * x, "numpy": np.sin}
SETTING = contextvars.ContextVar("setting")


class Slotted:
    __slots__ = ("rate",)

    def __init__(self, rate):
        self.rate = rate


class Setting:
    """A descriptor that keeps values elsewhere."""

    def __init__(self):
        self.kept = {}

    def __get__(self, owner, cls=None):
        return self.kept[id(owner)]

    def __set__(self, owner, value):
        self.kept[id(owner)] = value


class Base:
    shift = 0.0
    setting = Setting()

    def __init__(self):
        self.rate, self.none, self.law, self.stack, self.part = 2.0, None, LAWS["linear"], [2.0], Slotted(2.0)
        self.spline = interpolate.CubicSpline(np.arange(4.0), np.arange(4.0))
        self.weight = fractions.Fraction(1, 2)
        self.setting = 2.0
        self.table = {"k": 2.0}
        self.shown, self.rows, self.get = types.MappingProxyType(self.table), self.table.values(), self.table.get
        self.numbers, self.octets = array.array("d", [2.0]), bytearray(b"2")
        self.window = memoryview(self.octets)

    def __getitem__(self, i):
        return self.stack[i]

    @property
    def doubled(self):
        return 2.0 * self.rate

    def of(self, a, x):
        return a * x * self.doubled


class Derived(Base):
    def of(self, a, x):
        return super().of(a, x) + self.shift

    def by_property(self, a, x):
        return a * x * super().doubled

    def by_named_class(self, a, x):
        return a * x * super(Derived, self).doubled  # noqa: UP008


def by_a_table(self, g):
    table, key = {}, "k"
    table[key] = self.rate
    self.log[key] = g
    return g * table[key]


def test_what_is_stored_elsewhere_is_read():
    """A container that is only written is not; one instruction may load two names."""
    assert names_in(by_a_table.__code__)[3] == {"rate"}


def plain_function(a, x):
    return a * x * plain_function.rate


plain_function.rate = 2.0

# name -> (function of the model, change of the model)
CHANGES = {
    "what a property of the base class reads": (lambda m: m.of, lambda m: setattr(m, "rate", 5.0)),
    "what a property that super finds reads": (lambda m: m.by_property, lambda m: setattr(m, "rate", 5.0)),
    "what a property that super of a class finds reads": (
        lambda m: m.by_named_class, lambda m: setattr(m, "rate", 5.0),
    ),
    "a class attribute": (lambda m: m.of, lambda m: setattr(type(m), "shift", 1.0)),
    "None": (lambda m: lambda a, x: a * x if m.none is None else a, lambda m: setattr(m, "none", [])),
    "a function": (lambda m: lambda a, x: a * m.law(x), lambda m: setattr(m, "law", LAWS["square"])),
    "a function of NumPy": (lambda m: lambda a, x: a * m.law(x), lambda m: setattr(m, "law", LAWS["numpy"])),
    "the end of a list": (lambda m: lambda a, x: a * x * m.stack[-1], lambda m: m.stack.append(3.0)),
    "a slot": (lambda m: lambda a, x: a * x * m.part.rate, lambda m: setattr(m.part, "rate", 3.0)),
    "another object": (lambda m: lambda a, x: a * x * m.part.rate, lambda m: setattr(m, "part", Slotted(3.0))),
    "by getattr": (lambda m: lambda a, x: a * x * getattr(m, "ra" + "te"), lambda m: setattr(m, "rate", 3.0)),
    "a spline's coefficients": (
        lambda m: lambda a, x: a * float(m.spline(x)), lambda m: m.spline.c.__setitem__(-1, 7.0)),
    "a fraction": (
        lambda m: lambda a, x: a * x * float(m.weight), lambda m: setattr(m, "weight", fractions.Fraction(1, 3))),
    "a context variable": (lambda m: lambda a, x: a * x * SETTING.get(1.0), lambda m: SETTING.set(4.0)),
    "an attribute of a function": (lambda m: plain_function, lambda m: setattr(plain_function, "rate", 3.0)),
    "a descriptor": (lambda m: lambda a, x: a * x * m.setting, lambda m: setattr(m, "setting", 3.0)),
    "what __getitem__ reads": (lambda m: lambda a, x: a * x * m[0], lambda m: m.stack.__setitem__(0, 3.0)),
    "a read-only view of a dict": (
        lambda m: lambda a, x: a * x * m.shown["k"], lambda m: m.table.__setitem__("k", 3.0)),
    "the values of a dict": (
        lambda m: lambda a, x: a * x * sum(m.rows), lambda m: m.table.__setitem__("k", 3.0)),
    "a bound method of a dict": (
        lambda m: lambda a, x: a * x * m.get("k"), lambda m: m.table.__setitem__("k", 3.0)),
    "an array of the standard library": (
        lambda m: lambda a, x: a * x * m.numbers[0], lambda m: m.numbers.__setitem__(0, 3.0)),
    "a bytearray": (lambda m: lambda a, x: a * x * m.octets[0], lambda m: m.octets.__setitem__(0, 3)),
    "a memoryview": (lambda m: lambda a, x: a * x * m.window[0], lambda m: m.octets.__setitem__(0, 3)),
    "what a helper is given": (lambda m: lambda a, x: helped(a, x, m), lambda m: setattr(m, "rate", 3.0)),
}  # fmt: skip


def helped(a, x, model):
    return a * x * model.rate


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_the_function_reads_is_compared(what, monkeypatch):
    monkeypatch.setattr(Derived, "shift", 0.0)
    monkeypatch.setattr(plain_function, "rate", 2.0)
    made, change = CHANGES[what]
    model = Derived()
    backward_after(lambda: None, made(model))  # nothing has changed
    with pytest.raises(RuntimeError, match=r"another value now|was written"):
        contextvars.copy_context().run(backward_after, lambda: change(model), made(model))


def test_equal_objects_in_the_place_of_others_are_no_change():
    model = Derived()

    def renew():
        model.part, model.weight, model.stack = Slotted(2.0), fractions.Fraction(1, 2), [2.0]
        model.spline = interpolate.CubicSpline(np.arange(4.0), np.arange(4.0))

    def f(a, x):
        return a * (x * float(model.weight) * model.stack[-1] + 0.0 * float(model.spline(x)))

    assert backward_after(renew, f) == pytest.approx(0.5)


def test_arguments_are_those_of_the_call_and_their_arrays_are_compared():
    a, settings, data = ag.tensor(A, requires_grad=True), {"k": 2.0, "list": [1.0]}, np.array([2.0])

    def value():
        return integrate.quad(lambda x, a, s, d: a * x * s["k"] * d[0], 0, 1, args=(a, settings, data))[0]

    before = value()
    settings["k"], settings["list"] = 7.0, []
    assert float(ag.autograd.grad(before, [a])[0]) == pytest.approx(2.0)
    before = value()
    data[0] = 3.0
    with pytest.raises(RuntimeError, match="was written"):
        ag.autograd.grad(before, [a])


class Law:
    rate = 2.0

    def __call__(self, t, y, a):
        return -a * self.rate * y


IMPLICIT = {
    "root": lambda law, a: ag.implicit.root(lambda x, a: x**3 * (1.0 + 1e-6 * law.rate) - a)(ONE, a)[0],
    "minimize": lambda law, a: ag.implicit.minimize(
        lambda x, a: np.sum((x * (1.0 + 1e-6 * law.rate) - a) ** 2))(ONE, a)[0],
    "fixed_point": lambda law, a: ag.implicit.fixed_point(
        lambda x, a: np.cos(a * x) / (2.0 + 1e-6 * law.rate))(ONE * 0.5, a)[0],
    "solve_ivp": lambda law, a: ag.implicit.solve_ivp(
        lambda t, y, a: [-a * law.rate * y[0]], (0.0, 1.0), ONE, (a,)).y[0, -1],
    "solve_ivp of an object": lambda law, a: ag.implicit.solve_ivp(law, (0.0, 1.0), ONE, (a,)).y[0, -1],
    "linear_solve": lambda law, a: ag.implicit.linear_solve(
        lambda x, a: x * (1.0 + 1e-6 * law.rate) + a * x, ONE, args=(a,))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", IMPLICIT)
def test_the_functions_of_implicit_are_followed_too(name):
    law, a = Law(), ag.tensor(A, requires_grad=True)
    value = IMPLICIT[name](law, a)
    law.rate = 3.0
    with pytest.raises(RuntimeError, match=r"rate has another value now"):
        ag.autograd.grad(value, [a])
