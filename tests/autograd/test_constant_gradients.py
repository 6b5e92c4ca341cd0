"""Gradients without create_graph inside of a transform: constants of its gradient, told of at the line.

The class: ways of asking for a gradient x transforms x what the gradient depends on. The values of the ways out are
compared with formulas.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 0.7])


def of_argument(x, **options):
    (g,) = ag.autograd.grad(np.sum(x**3), x, **options)
    return np.sum(g**2) + np.sum(x)  # 9 x^4 + x


def of_leaf(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    np.sum(t**2 * x).backward(**options)
    return np.sum(t.grad * x)  # 2 t x^2


def by_function(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.autograd.backward(np.sum(t**2 * x), **options)
    return np.sum(t.grad * x)


def by_list(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.autograd.backward([np.sum(t**2 * x), np.sum(t)], **options)
    return np.sum(t.grad * x)  # 2 t x^2 + x


def with_inputs(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    np.sum(t**2 * x).backward(inputs=[t], **options)
    return np.sum(t.grad * x)


def of_grad_outputs(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    (g,) = ag.autograd.grad(t**2, t, x, **options)
    return np.sum(g * x)


def by_gradient(x, **options):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    (t**2).backward(x, **options)
    return np.sum(t.grad * x)


FUNCTIONS = [of_argument, of_leaf, by_function, by_list, with_inputs, of_grad_outputs, by_gradient]
TRANSFORMS = {
    "grad": lambda f: ag.grad(f)(X),
    "value_and_grad": lambda f: ag.value_and_grad(f)(X)[1],
    "jacobian": lambda f: ag.jacobian(f)(X),
    "vjp": lambda f: ag.vjp(f, X)[1](1.0)[0],
    "not adopted": lambda f: ag.grad(f, adopt=False)(X),
}


def expected(f):
    leaf = np.array([1.0, 2.0])
    return {of_argument: 36 * X**3 + 1, by_list: 4 * leaf * X + 1}.get(f, 4 * leaf * X)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_it_is_told_once_a_line(f, transform):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            TRANSFORMS[transform](lambda x: f(x))
    told = [one for one in caught if "without create_graph" in str(one.message)]
    assert len(told) == len(caught) == 1
    assert told[0].filename == __file__
    assert f.__code__.co_firstlineno < told[0].lineno <= f.__code__.co_firstlineno + 4


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning")
def test_with_create_graph_it_is_recorded(f, transform):
    found = TRANSFORMS[transform](lambda x: f(x, create_graph=True))
    np.testing.assert_allclose(found, expected(f), rtol=1e-13)


def test_steps_that_are_recorded_have_their_gradient():
    def f(x):
        t = np.array([1.0, 2.0])
        for _ in range(3):
            t = t - 0.1 * ag.grad(lambda t: ((t - x) ** 2).sum())(t)
        return np.sum(t) + np.sum(x)

    np.testing.assert_allclose(ag.grad(f)(X), 2.0 - 0.8**3)


def test_steps_as_of_pytorch_are_told_of():
    def f(x):
        t = ag.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(3):
            ((t - x) ** 2).sum().backward()
            with ag.no_grad():
                t -= 0.1 * t.grad
            t.grad = None
        return np.sum(t) + np.sum(x)

    with pytest.warns(UserWarning, match="t = t - step"):
        ag.grad(f)(X)


def silent(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return f()


def test_nothing_is_told_of_what_depends_on_no_argument():
    def f(x):
        t = ag.tensor([1.0, 2.0], requires_grad=True)
        np.sum(t**2).backward()
        (g,) = ag.autograd.grad(np.sum(t**2), t)
        return np.sum((t.grad + g).detach() * x)

    np.testing.assert_allclose(silent(lambda: ag.grad(f)(X)), [4.0, 8.0])


def test_nothing_is_told_under_no_grad():
    def f(x):
        loss = np.sum(x**3)
        with ag.no_grad():
            (g,) = ag.autograd.grad(loss, x, retain_graph=True)
        return np.sum(g * x)

    np.testing.assert_allclose(silent(lambda: ag.grad(f)(X)), 3 * X**2)


def test_nothing_is_told_outside_of_transforms():
    t = ag.tensor(X, requires_grad=True)
    silent(lambda: np.sum(t**2).backward())
    silent(lambda: ag.autograd.grad(np.sum(t**2), t))


@pytest.mark.parametrize("nested", [ag.grad, ag.jacobian, ag.hessian])
def test_nothing_is_told_of_transforms_within(nested):
    silent(lambda: ag.jacobian(lambda x: nested(lambda y: np.sum(y**3 * x))(x))(X))
