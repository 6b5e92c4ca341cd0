"""Arguments get their place in the graph by a short way and by a general one: both must give the same."""

import contextlib

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.transforms.traced import set_compiled_traces


@contextlib.contextmanager
def compiled(mode):
    before = set_compiled_traces(mode)
    try:
        yield
    finally:
        set_compiled_traces(before)


def both(compute):
    """The result of `compute()` by either way."""
    results = []
    for mode in (True, False):
        with compiled(mode):
            results.append(compute())
    return results


def written(x):
    x[1:] *= 2.0
    x += 1.0
    return np.sum(x**2)


def viewed(x):
    part = x[::2]
    part *= 3.0
    return np.sum(x * x[::-1])


def nested(x):
    inner = ag.grad(lambda y: np.sum(np.sin(y) * x))
    return np.sum(inner(np.array([0.1, 0.2, 0.3])) * x)


def closed_over(x):
    return np.sum(ag.grad(lambda y: np.sum(y * y * x))(np.ones(3)))


def twice(x):
    return np.sum(ag.grad(lambda y: np.sum(y**3))(x) ** 2)


def itself(x):
    return x[0]


def by_hand(x):
    y = ag.asarray(np.ones(3), requires_grad=True)
    (g,) = ag.autograd.grad(np.sum(y * x), (y,), create_graph=True)
    return np.sum(g * g)


FUNCTIONS = [written, viewed, nested, closed_over, twice, itself, by_hand]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_value_and_gradient_are_the_same_by_either_way(function):
    short, general = both(lambda: ag.value_and_grad(function)(np.array([1.0, -2.0, 0.5])))
    np.testing.assert_array_equal(short[0], general[0])
    np.testing.assert_array_equal(short[1], general[1])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_differences(function):
    x = np.array([1.0, -2.0, 0.5])
    step = 1e-6
    expected = [(float(function(x + step * e)) - float(function(x - step * e))) / (2 * step) for e in np.eye(3)]
    with compiled(True):
        np.testing.assert_allclose(ag.grad(function)(x.copy()), expected, rtol=1e-6, atol=1e-6)


def test_writes_reach_the_callers_array_by_either_way():
    def compute():
        x = np.array([1.0, 2.0, 3.0])
        ag.grad(written)(x)
        return x

    for after in both(compute):
        np.testing.assert_array_equal(after, [2.0, 5.0, 7.0])


def test_a_derivative_of_a_closure_stays_in_the_graph_of_the_outer_argument():
    with compiled(True):
        hessian = ag.jacobian(ag.grad(lambda x: ag.grad(lambda y: np.sum(y**2 * x))(np.ones(2)).sum() * np.sum(x**2)))
        np.testing.assert_allclose(hessian(np.array([1.0, 2.0])), 2 * np.array([[6 + 4, 4 + 2], [4 + 2, 6 + 8]]))


@pytest.mark.parametrize("mode", [True, False])
def test_a_tensor_of_the_function_that_outlives_it_can_be_differentiated_again(mode):
    kept = []

    def f(x):
        kept.append(np.sum(x * x))
        return kept[-1]

    with compiled(mode):
        ag.vjp(f, np.array([1.0, 2.0]))
        assert kept[0].requires_grad
        kept[0].backward()  # nothing lies behind the argument: there is nothing to add to


@pytest.mark.parametrize("mode", [True, False])
def test_in_inference_mode_the_gradient_is_that_of_differences(mode):
    with compiled(mode), ag.inference_mode():
        np.testing.assert_allclose(ag.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0])), [2.0, 4.0])


def test_a_write_to_an_argument_that_was_saved_is_noticed():
    x = np.array([1.0, 2.0])

    def f(y):
        z = np.sum(y * y)
        x[0] = 5.0  # the caller's array is the argument
        return z

    by_either = both(lambda: (x.__setitem__(0, 1.0), _outcome(f, x))[1])
    assert by_either[0] == by_either[1]


def _outcome(f, x):
    try:
        return ag.grad(f)(x).tolist()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("constant", [3.0, np.array(3.0)], ids=["number", "array"])
def test_an_argument_without_axes_that_the_program_writes_is_refused(constant):
    x = np.array(2.0)

    def g(y):
        z = y * y
        x[()] = 5.0
        return z

    assert ag.grad(lambda y: y * constant * y)(x) == 12.0
    np.testing.assert_array_equal(ag.grad(lambda y: y * np.array(4.0) * y)(x), 16.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ag.grad(g)(x)


def test_arguments_without_axes_stand_beside_leaves_over_the_programs_arrays():
    z = ag.asarray(np.array(3.0), requires_grad=True)
    assert ag.grad(lambda y: y * z * y)(np.array(2.0)) == 12.0
