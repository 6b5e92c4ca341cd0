"""Functions that a node keeps are called in backward as the adopted call that made it called them.

References are differences of the plain program.
"""

import math
import sys
import threading

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.integrate import solve_ivp

import arraygrad as ag
import arraygrad.scipy.integrate
from arraygrad.engine.later import called_later

POINT = np.array([0.9, 0.4, 1.3])
HERE = sys.modules[__name__]


def differences(f, x, step=1e-4):
    """Gradient by central differences, extrapolated once."""

    def central(h):
        return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(x.size)])

    return (4.0 * central(step / 2) - central(step)) / 3.0


def filled(u, k):
    """A stretch of a simulation as it is written without a thought of derivatives."""
    v = np.zeros(3)
    for i in range(3):
        v[i] = math.sin(u[i]) * k[i]
    v[1:] += float(k[0]) * u[:-1]
    return v


def chain(stretch):
    def loss(k):
        u = np.array([0.3, 0.2, 0.1])
        for _ in range(3):
            u = stretch(u, k)
        return np.sum(u**2)

    return loss


checkpointed_loss = chain(ag.checkpoint(filled))


def test_a_checkpoint_is_computed_again_as_the_adopted_call_computed_it():
    gradient = ag.grad(checkpointed_loss, adopt=True)(POINT)
    np.testing.assert_allclose(gradient, differences(chain(filled), POINT), rtol=1e-7)


def test_a_checkpoint_of_a_local_function_is_adopted_too():
    def loss(k):
        def stretch(u):
            out = np.zeros(3)
            out[:] = u * math.exp(k[0])
            return out

        return np.sum(ag.checkpoint(stretch)(ag.checkpoint(stretch)(k)))

    def plain(k):
        return np.sum(k * np.exp(2.0 * k[0]))

    np.testing.assert_allclose(ag.grad(loss, adopt=True)(POINT), differences(plain, POINT), rtol=1e-7)


# The slopes of a damped pendulum, as programs spell them.


def slope_as_array(t, y, k):
    return np.array([y[1], -k[0] * np.sin(y[0]) - k[1] * y[1]])


def slope_as_list(t, y, k):
    return [y[1], -k[0] * np.sin(y[0]) - k[1] * y[1]]


def slope_with_math(t, y, k):
    return (y[1], -k[0] * math.sin(y[0]) - k[1] * y[1])


def slope_filled(t, y, k):
    out = np.zeros(2)
    out[0] = y[1]
    out[1] = -k[0] * math.sin(float(y[0])) - k[1] * y[1]
    return out


SLOPES = [slope_as_array, slope_as_list, slope_with_math, slope_filled]
TIMES = np.array([0.7, 1.5])


def reference_motion(slope):
    def loss(k):
        found = scipy.integrate.solve_ivp(
            slope, (0.0, 1.5), [1.0, 0.0], "DOP853", TIMES, args=(k,), rtol=1e-12, atol=1e-12
        )
        return np.sum(found.y[0])

    return loss


def by_implicit(slope, k):
    return np.sum(ag.implicit.solve_ivp(slope, (0.0, 1.5), np.array([1.0, 0.0]), (k,), t_eval=TIMES).y[0])


def by_arraygrad_scipy(slope, k):
    return np.sum(
        arraygrad.scipy.integrate.solve_ivp(
            slope, (0.0, 1.5), np.array([1.0, 0.0]), t_eval=TIMES, args=(k,), rtol=1e-9, atol=1e-9
        ).y[0]
    )


def by_scipy(slope, k):
    return np.sum(solve_ivp(slope, (0.0, 1.5), [1.0, 0.0], t_eval=TIMES, args=(k,), rtol=1e-9, atol=1e-9).y[0])


@pytest.mark.parametrize("slope", SLOPES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("solver", [by_implicit, by_arraygrad_scipy, by_scipy], ids=lambda f: f.__name__)
def test_the_slope_of_an_initial_value_problem_is_adopted_in_its_adjoint(solver, slope):
    gradient = ag.grad(lambda k: solver(slope, k), adopt=True)(POINT)
    np.testing.assert_allclose(gradient, differences(reference_motion(slope), POINT), rtol=1e-6, atol=1e-8)


def test_a_slope_that_returns_a_list_needs_no_adoption():
    gradient = ag.grad(lambda k: by_implicit(slope_as_list, k))(POINT)
    np.testing.assert_allclose(gradient, differences(reference_motion(slope_as_list), POINT), rtol=1e-6, atol=1e-8)


# Solved equations. Each has a solution in closed form.

EQUATIONS = {
    "implicit.root": (
        lambda k: ag.implicit.root(lambda x, k: [math.exp(x[0]) - k[0], x[1] ** 3 - k[1]])(np.ones(2), k),
        lambda k: np.array([np.log(k[0]), np.cbrt(k[1])]),
    ),
    "implicit.minimize": (
        lambda k: ag.implicit.minimize(lambda x, k: (math.exp(x[0]) - k[0]) ** 2)(np.zeros(1), k),
        lambda k: np.log(k[:1]),
    ),
    "implicit.fixed_point": (
        lambda k: ag.implicit.fixed_point(lambda x, k: np.array([0.5 * float(x[0]) + k[0]]))(np.zeros(1), k),
        lambda k: 2.0 * k[:1],
    ),
    "implicit.linear_solve": (
        lambda k: ag.implicit.linear_solve(lambda x, k: np.array([k[0] * x[0], k[1] * x[1]]), np.ones(2), args=(k,)),
        lambda k: 1.0 / k[:2],
    ),
    "scipy.optimize.brentq": (
        lambda k: scipy.optimize.brentq(lambda x: math.exp(x) - k[0], -3.0, 3.0, xtol=1e-13),
        lambda k: np.log(k[0]),
    ),
    "scipy.optimize.fsolve": (
        lambda k: scipy.optimize.fsolve(lambda x: [math.exp(x[0]) - k[0], x[1] ** 3 - k[1]], np.ones(2), xtol=1e-13),
        lambda k: np.array([np.log(k[0]), np.cbrt(k[1])]),
    ),
    "scipy.optimize.curve_fit": (
        lambda k: scipy.optimize.curve_fit(
            lambda x, p: p * np.array([math.exp(v) for v in x]), np.array([0.0, 1.0]), np.exp([0.0, 1.0]) * k[1]
        )[0],
        lambda k: k[1:2],
    ),
    "scipy.integrate.dblquad": (
        lambda k: scipy.integrate.dblquad(lambda y, x: math.exp(k[0] * y), 0.0, 1.0, 0.0, 1.0)[0],
        lambda k: (np.exp(k[0]) - 1.0) / k[0],
    ),
    "scipy.integrate.odeint": (
        lambda k: scipy.integrate.odeint(lambda y, t: [-k[0] * float(y[0])], [1.0], [0.0, 1.0], rtol=1e-10)[-1],
        lambda k: np.exp(-k[:1]),
    ),
    "scipy.optimize.minimize": (
        lambda k: scipy.optimize.minimize(lambda x: math.cosh(x[0] - k[0]), np.array([0.3]), tol=1e-10).x,
        lambda k: k[:1],
    ),
    "scipy.optimize.least_squares": (
        lambda k: scipy.optimize.least_squares(lambda x: [math.sinh(x[0] - k[0])], np.array([0.3]), gtol=1e-14).x,
        lambda k: k[:1],
    ),
    "scipy.integrate.quad": (
        lambda k: scipy.integrate.quad(lambda x: math.exp(-k[0] * x), 0.0, 1.0)[0],
        lambda k: (1.0 - np.exp(-k[0])) / k[0],
    ),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_equation_of_a_solved_problem_is_adopted_in_backward(name):
    program, closed = EQUATIONS[name]
    gradient = ag.grad(lambda k: np.sum(program(k)), adopt=True)(POINT)
    np.testing.assert_allclose(gradient, differences(lambda k: np.sum(closed(k)), POINT), rtol=1e-5, atol=1e-8)


# What a recorded backward calls.


class Sine(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = np.zeros(3)
        for i in range(3):
            out[i] = g[i] * math.cos(x[i])
        return out


@ag.primitive
def sine(x):
    return np.sin(x)


def sine_rule(ans, x):
    def pull(g):
        out = np.zeros(3)
        for i in range(3):
            out[i] = g[i] * math.cos(x[i])
        return out

    return pull


sine.defvjp(sine_rule)


def hooked(x):
    """The sine, whose gradient a hook multiplies by x."""
    y = np.sin(x)

    def times_x(g):
        out = np.zeros(3)
        out[:] = g * x
        return out

    y.register_hook(times_x)
    return y


RECORDED = {
    "a Function's backward": (Sine.apply, lambda x: -np.sin(x)),
    "a primitive's rule": (sine, lambda x: -np.sin(x)),
    "a hook": (hooked, lambda x: np.cos(x) - x * np.sin(x)),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_recorded_backward_calls_is_adopted(name):
    function, second = RECORDED[name]
    hessian = ag.hessian(lambda x: np.sum(function(x)), adopt=True)(POINT)
    np.testing.assert_allclose(hessian, np.diag(second(POINT)), rtol=1e-12)


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_plain_backward_calls_gets_the_same_result_in_an_adopted_call(name):
    function, _ = RECORDED[name]
    plain = ag.grad(lambda x: np.sum(function(x)))(POINT)
    np.testing.assert_allclose(ag.grad(lambda x: np.sum(function(x)), adopt=True)(POINT), plain, rtol=1e-14)


# The mechanism.


def test_outside_of_adopted_calls_what_is_kept_is_the_function_itself():
    assert called_later(filled) is filled


def kept_in_an_adopted_call(function):
    return ag.adopt(lambda: called_later(function))()


def makes_zeros():
    return np.zeros(1)


def test_a_kept_function_is_adopted_when_it_is_called_and_leaves_the_module_as_it_was():
    later = kept_in_an_adopted_call(makes_zeros)
    assert isinstance(makes_zeros(), np.ndarray)
    assert isinstance(later(), ag.Tensor)
    assert isinstance(makes_zeros(), np.ndarray)
    assert HERE.np is sys.modules["numpy"]
    assert later.__name__ == "makes_zeros"
    assert later.__wrapped__ is makes_zeros


def test_a_kept_function_that_raises_leaves_the_module_as_it_was():
    def fails():
        """What it does."""
        raise KeyError("of the program")

    later = kept_in_an_adopted_call(fails)
    assert later.__doc__ == "What it does."
    with pytest.raises(KeyError, match="of the program"):
        later()
    assert HERE.np is sys.modules["numpy"]
    assert isinstance(makes_zeros(), np.ndarray)


def test_a_function_kept_within_a_kept_one_is_adopted():
    def keeps():
        return called_later(makes_zeros)

    assert isinstance(kept_in_an_adopted_call(keeps)()(), ag.Tensor)


def test_a_function_kept_in_a_nested_adopted_call_finds_what_the_outer_one_reached():
    def inner(function):
        return called_later(function)

    later = ag.adopt(lambda: ag.adopt(inner, packages=("math",))(makes_zeros), packages=(__name__,))()
    assert isinstance(later(), ag.Tensor)


def test_backward_after_adopt_clear_is_adopted():
    k = ag.tensor(POINT, requires_grad=True)
    loss = ag.adopt(checkpointed_loss)(k)
    ag.adopt.clear()
    loss.backward()
    np.testing.assert_allclose(k.grad.numpy(), differences(chain(filled), POINT), rtol=1e-7)


def test_backward_after_the_module_got_another_name_is_adopted():
    k = ag.tensor(POINT, requires_grad=True)
    loss = ag.adopt(checkpointed_loss)(k)
    HERE.a_name_that_comes_late = np
    try:
        loss.backward()
    finally:
        del HERE.a_name_that_comes_late
    np.testing.assert_allclose(k.grad.numpy(), differences(chain(filled), POINT), rtol=1e-7)


def test_an_adopted_call_within_a_kept_one_takes_nothing_out_of_it():
    later = kept_in_an_adopted_call(lambda: (ag.adopt(makes_zeros)(), makes_zeros()))
    ag.adopt.clear()  # what the inner call finds is new, what the outer one found is old
    assert all(isinstance(made, ag.Tensor) for made in later())
    assert isinstance(makes_zeros(), np.ndarray)


def test_an_adopted_call_within_one_that_was_searched_before_adopt_clear_takes_nothing_out_of_it():
    outer = ag.adopt(lambda: (ag.adopt(makes_zeros)(), makes_zeros()))
    assert all(isinstance(made, ag.Tensor) for made in outer())
    ag.adopt.clear()
    assert all(isinstance(made, ag.Tensor) for made in outer())
    assert isinstance(ag.adopt(makes_zeros)(), ag.Tensor)


def test_two_threads_run_kept_functions_at_the_same_time():
    together = threading.Barrier(2)
    found = {}

    def meets(u, k):
        if not isinstance(u, np.ndarray):
            raise TypeError("isinstance answers as without adoption")
        together.wait(30)
        return filled(u, k)

    def loss(k):
        return np.sum(ag.checkpoint(meets)(np.sin(k), k) ** 2)

    def plain(k):
        return np.sum(filled(np.sin(k), k) ** 2)

    def run(number):
        found[number] = ag.grad(loss, adopt=True)(POINT)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    expected = differences(plain, POINT)
    for number in range(2):
        np.testing.assert_allclose(found[number], expected, rtol=1e-7)
    assert HERE.np is sys.modules["numpy"]


def test_backward_on_another_thread_than_the_adopted_call_is_adopted():
    k = ag.tensor(POINT, requires_grad=True)
    loss = ag.adopt(checkpointed_loss)(k)
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join(60)
    np.testing.assert_allclose(k.grad.numpy(), differences(chain(filled), POINT), rtol=1e-7)
