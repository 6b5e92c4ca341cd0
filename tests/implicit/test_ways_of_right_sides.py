"""Right sides of all everyday forms are called at many points at once, and odeint's plain calls are plain.

The class: how a right side has its parameters (arguments, `*args`, closure, object, global dict) x how it makes its
result (list, tuple, numpy.array, stack, an array or a list that it fills, in slices, in a loop, of two axes) x solver.
The references are differences of solutions to tight tolerances. Functions that write into what they have not made are
told apart by their code.
"""

import numpy as np
import pytest
from scipy import integrate as plain

import arraygrad as ag
from arraygrad.implicit import many_steps
from arraygrad.implicit.carried import _changes
from arraygrad.implicit.common import solving
from arraygrad.scipy import integrate

TIMES, START, P = np.linspace(0.0, 3.0, 7), np.array([1.1, -0.4]), (0.3, 4.0)
WORK = np.zeros(2)


def as_list(y, t, b, c):
    return [y[1], -b * y[1] - c * np.sin(y[0])]


def as_tuple(y, t, b, c):
    angle, speed = y
    return speed, -b * speed - c * np.sin(angle)


def as_array(y, t, b, c):
    return np.array([y[1], -b * y[1] - c * np.sin(y[0])])


def as_stack(y, t, b, c):
    return np.stack([y[1], -b * y[1] - c * np.sin(y[0])])


def filled(y, t, b, c):
    out = np.zeros(2)
    out[0] = y[1]
    out[1] = -b * y[1] - c * np.sin(y[0])
    return out


def filled_like(y, t, b, c):
    out = np.empty_like(y)
    out[:1] = y[1:]
    out[1:] = -b * y[1:] - c * np.sin(y[:1])
    return out


def filled_list(y, t, b, c):
    out = [0.0, 0.0]
    out[0] = y[1]
    out[1] = -b * y[1] - c * np.sin(y[0])
    return out


def filled_in_a_loop(y, t, b, c):
    other = y[1], -b * y[1] - c * np.sin(y[0])
    out = np.zeros(2, dtype=float)
    for i in range(2):
        out[i] = other[i]
    return out


def filled_matrix(y, t, b, c):
    a = np.zeros((2, 2))
    a[0, 1] = 1.0
    a[1, 1] = -b
    return a @ y + np.array([0.0, -c]) * np.sin(y[0])


def handed_on(y, t, *args):
    return as_list(y, t, *args)


FORMS = [as_list, as_tuple, as_array, as_stack, filled, filled_like, filled_list, filled_in_a_loop, filled_matrix,
         handed_on]  # fmt: skip


class Model:
    def __init__(self, form, b, c):
        self.form, self.b, self.c = form, b, c

    def slope(self, y, t):
        return self.form(y, t, self.b, self.c)


def in_closure(form, b, c):
    return lambda y, t: form(y, t, b, c)


def in_dict(form, b, c):
    held = {"b": b, "c": c}
    return lambda y, t: form(y, t, held["b"], held["c"])


HOLDERS = {
    "arguments": lambda form, b, c: (form, (b, c)),
    "closure": lambda form, b, c: (in_closure(form, b, c), ()),
    "object": lambda form, b, c: (Model(form, b, c).slope, ()),
    "dict": lambda form, b, c: (in_dict(form, b, c), ()),
}


def solution(library, solver, slope, args, **how):
    if solver == "odeint":
        return library.odeint(slope, START, TIMES, args, **how).T
    turned = lambda t, y, *args: slope(y, t, *args)
    return library.solve_ivp(turned, (0.0, 3.0), START, solver, TIMES, args=args, **how).y


def loss(library, solver, form, holder, **how):
    return lambda b, c: np.sum(solution(library, solver, *HOLDERS[holder](form, b, c), **how)[:, 1:] ** 2)


def expected(form):
    f, found = loss(plain, "DOP853", form, "arguments", rtol=1e-12, atol=1e-12), []
    for i in range(2):
        moves = 1e-4 * np.eye(2)[i]
        found.append((f(*(P + moves)) - f(*(P - moves))) / 2e-4)
    return found


EXPECTED = expected(as_list)


@pytest.mark.parametrize("solver", ["odeint", "LSODA", "RK45"])
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_equation(form, holder, solver, monkeypatch):
    def one_by_one(self, t, y):
        raise AssertionError("called point by point")

    monkeypatch.setattr(many_steps.Calls, "one_by_one", one_by_one)
    f = ag.grad(loss(plain, solver, form, holder, rtol=1e-9, atol=1e-9), argnums=(0, 1))
    np.testing.assert_allclose(f(*P), EXPECTED, rtol=1e-6)
    np.testing.assert_allclose(f(*P), EXPECTED, rtol=1e-6)  # by what was kept


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_odeint_is_called_once(form, holder, monkeypatch):
    calls, theirs = [], plain.odeint
    monkeypatch.setattr(plain, "odeint", lambda *args, **kwargs: calls.append(1) or theirs(*args, **kwargs))
    ag.grad(loss(integrate, "odeint", form, holder), argnums=(0, 1), adopt=True)(*P)
    assert len(calls) == 1


def test_what_is_written_elsewhere_is_called_as_it_stands():
    class Working(Model):
        def slope(self, y, t):
            self.work = np.zeros(2)
            self.work[0] = y[1]
            self.work[1] = -self.b * y[1] - self.c * np.sin(y[0])
            return self.work

    f = lambda b, c: np.sum(plain.odeint(Working(None, b, c).slope, START, TIMES, rtol=1e-9, atol=1e-9)[1:] ** 2)
    with ag.number_policy("off"):  # that it stores numbers is told
        np.testing.assert_allclose(ag.grad(f, argnums=(0, 1))(*P), EXPECTED, rtol=1e-6)


@pytest.mark.parametrize("form", [as_list, filled], ids=lambda f: f.__name__)
@pytest.mark.parametrize("holder", HOLDERS)
def test_second_derivatives(form, holder):
    found = ag.hessian(lambda b: loss(plain, "RK45", form, holder, rtol=1e-9, atol=1e-9)(b, P[1]))(P[0])
    exact = ag.grad(loss(plain, "DOP853", as_list, "arguments", rtol=1e-11, atol=1e-11))
    assert float(found) == pytest.approx((exact(P[0] + 1e-4, P[1]) - exact(P[0] - 1e-4, P[1])) / 2e-4, rel=1e-4)


def test_each_solution_has_an_object_of_its_own():
    f = ag.grad(loss(plain, "odeint", as_list, "object", rtol=1e-9, atol=1e-9), argnums=(0, 1))
    for b, c in ((0.3, 4.0), (0.6, 2.0), (0.3, 4.0)):
        exact = loss(plain, "DOP853", as_list, "object", rtol=1e-12, atol=1e-12)
        by_b = (exact(b + 1e-4, c) - exact(b - 1e-4, c)) / 2e-4
        by_c = (exact(b, c + 1e-4) - exact(b, c - 1e-4)) / 2e-4
        np.testing.assert_allclose(f(b, c), [by_b, by_c], rtol=1e-6)


class Switched(Model):
    def slope(self, y, t):
        return [y[1], -self.b * y[1] - self.c * (np.sin(y[0]) if self.form == "sine" else y[0])]


class Renamed(Switched):
    def slope(self, y, t):
        return [y[1], -self.b * y[1] - 2.0 * self.c * np.sin(y[0])]


def test_other_objects_have_other_programs():
    def value(make):
        f = lambda b: np.sum(plain.odeint(make(b).slope, START, TIMES, rtol=1e-10, atol=1e-10)[1:] ** 2)
        return ag.grad(f)(0.3), (f(0.3 + 1e-4) - f(0.3 - 1e-4)) / 2e-4

    for make in (
        lambda b: Switched("sine", b, 4.0), lambda b: Switched("line", b, 4.0), lambda b: Switched("sine", b, 2.0),
        lambda b: Renamed("sine", b, 4.0), lambda b: Switched("sine", b, 4.0),
    ):  # fmt: skip
        found, exact = value(make)
        assert found == pytest.approx(exact, rel=1e-5)


def test_what_a_hidden_function_stores_is_found():
    class Counting:
        def __init__(self, b):
            self.b, self.calls = b, 0

        def slope(self, y, t):
            vars(self).update(calls=self.calls + 1)
            return [y[1], -self.b * y[0]]

    model = Counting(1.5)
    with ag.number_policy("off"):

        def f(b):
            model.b = b
            return np.sum(plain.odeint(model.slope, START, TIMES)[:, 0])

        assert ag.grad(f)(1.5) == pytest.approx((f(1.5001) - f(1.4999)) / 2e-4, rel=1e-4)
    assert model.calls > 50


HIDDEN = []


def test_a_tensor_that_is_read_where_nothing_finds_it_is_refused():
    def f(b):
        HIDDEN[:] = iter([b])
        slope = lambda y, t: [y[1], -y[0] * eval("HIDDEN")[0]]
        return np.sum(plain.odeint(slope, START, TIMES)[:, 0])

    with pytest.raises(TypeError, match="gradient would be lost"):
        ag.grad(f)(1.5)
    HIDDEN.clear()


# Code that writes, and where into.


def into_a_global(y, t):
    WORK[0] = y[1]
    return WORK


def into_a_parameter(y, t, out):
    out[0] = y[1]
    return out


def into_an_alias(y, t):
    out = WORK
    out[0] = y[1]
    return out


def into_one_of_two(y, t):
    out = np.zeros(2)
    if t > 1.0:
        out = WORK
    out[0] = y[1]
    return out


def into_either(y, t):
    out = WORK if t > 1.0 else np.zeros(2)
    out[0] = y[1]
    return out


def into_a_view(y, t):
    out = np.asarray(y)
    out[0] = 1.0
    return out


def into_an_item(y, t):
    out = [WORK]
    out[0][0] = y[1]
    return out[0]


def into_what_a_loop_gives(y, t):
    for out in [WORK]:
        out[0] = y[1]
    return out


def into_starred(y, t, *out):
    out[0][0] = y[1]
    return out[0]


def into_keywords(y, t, **out):
    out["a"] = y
    return y


def by_starred_arguments(y, t, *out):
    return np.add(*out)


@pytest.mark.parametrize("f", FORMS, ids=lambda f: f.__name__)
def test_code_that_fills_its_own_arrays_changes_nothing(f):
    assert not _changes(f.__code__)[0]


@pytest.mark.parametrize(
    "f",
    [into_a_global, into_a_parameter, into_an_alias, into_one_of_two, into_either, into_a_view, into_an_item,
     into_what_a_loop_gives, into_starred, into_keywords, by_starred_arguments],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_code_that_may_write_elsewhere_is_told(f):
    assert _changes(f.__code__)[0]


def test_parts_of_a_right_side_without_tensors():
    def f(t, y, k):
        return [k * y[0]]

    with solving("test", f, [2.0]) as right_side:
        function, args, changed, bare = right_side.parts(0.0, START)
    assert function is f
    assert args == [2.0]
    assert changed is None
    assert bare
