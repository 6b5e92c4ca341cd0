"""A backward that does not record what it does: right first derivatives, and a refusal of every other one."""

import re

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import Function, once_differentiable

X = np.array([1.0, 2.0])
ONES = np.ones(2)


def plain(backward):
    return backward


def sine(backward, decorate=plain):
    """A Function of the name Sine with this backward; `ctx.x` is raw, `ctx.saved_tensors` are in the graph."""

    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.array
            ctx.save_for_backward(x)
            return np.sin(x.array)

    Sine.backward = staticmethod(decorate(backward))
    return Sine


def raw_array(ctx, g):
    return g.array * np.cos(ctx.x)


def raw_tensor(ctx, g):
    return ag.asarray(g.array * np.cos(ctx.x))


def detached(ctx, g):
    return g.detach() * np.cos(ctx.x)


def without_recording(ctx, g):
    (x,) = ctx.saved_tensors
    with ag.no_grad():
        return g * ag.cos(x)


def raw_gradient_alone(ctx, g):
    """The result requires grad, by x alone."""
    (x,) = ctx.saved_tensors
    return ag.cos(x) * g.array


WAYS = {
    "raw_array": sine(raw_array),
    "raw_tensor": sine(raw_tensor),
    "detached": sine(detached),
    "without_recording": sine(without_recording),
    "raw_gradient_alone": sine(raw_gradient_alone),
    "once_differentiable": sine(raw_array, once_differentiable),
}

FORWARD = {
    "jvp": lambda f: ag.jvp(f, (X,), (ONES,)),
    "jacfwd": lambda f: ag.jacfwd(f)(X),
    "linearize": lambda f: ag.linearize(f, X)[1](ONES),
}
TWICE = {
    "hessian": lambda f: ag.hessian(lambda x: ag.sum(f(x) ** 2))(X),
    "hvp": lambda f: ag.hvp(lambda x: ag.sum(f(x) * x))(X, ONES),
    "grad of grad": lambda f: ag.grad(lambda x: ag.sum(ag.grad(lambda x: ag.sum(f(x) * x))(x)))(X),
}


@pytest.fixture(params=WAYS)
def function(request):
    return WAYS[request.param].apply


@pytest.mark.parametrize("derivative", FORWARD)
def test_forward_mode_is_refused_by_name(function, derivative):
    with pytest.raises(RuntimeError, match=r"Sine\.backward .*\(jvp, jacfwd, linearize"):
        FORWARD[derivative](function)


@pytest.mark.parametrize("derivative", FORWARD)
def test_forward_mode_of_a_sum_with_another_term_is_refused(function, derivative):
    with pytest.raises(RuntimeError, match=r"Sine\.backward"):
        FORWARD[derivative](lambda x: function(x) + x)


@pytest.mark.parametrize("derivative", TWICE)
def test_a_second_derivative_is_refused(function, derivative):
    with pytest.raises(RuntimeError, match=r"Sine\.backward"):
        TWICE[derivative](function)


def test_a_raw_array_is_refused_where_no_gradient_given_requires_grad():
    with pytest.raises(RuntimeError, match=r"Sine\.backward returned a raw array"):
        ag.hessian(lambda x: ag.sum(WAYS["raw_array"].apply(x)))(X)


def test_first_derivatives_in_reverse_mode_are_right(function):
    np.testing.assert_allclose(ag.grad(lambda x: ag.sum(function(x)))(X), np.cos(X))
    np.testing.assert_allclose(ag.jacrev(function)(X), np.diag(np.cos(X)))
    np.testing.assert_allclose(ag.vjp(function, X)[1](ONES)[0], np.cos(X))


def test_a_recorded_run_that_nobody_differentiates_is_right(function):
    x = ag.tensor(X, requires_grad=True)
    (g,) = ag.autograd.grad(function(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.array, np.cos(X))


def test_a_recorded_run_can_be_differentiated_by_what_does_not_pass_there(function):
    x, v, w = (ag.tensor(a, requires_grad=True) for a in (X, ONES, ONES))
    (g,) = ag.autograd.grad((function(x) * v + x * w).sum(), x, create_graph=True)
    for asked in (x, v):
        with pytest.raises(RuntimeError, match=r"Sine\.backward"):
            ag.autograd.grad(g.sum(), asked, retain_graph=True)
    np.testing.assert_allclose(ag.autograd.grad(g.sum(), w)[0].array, ONES)


def test_a_recorded_backward_has_every_derivative():
    def recorded(ctx, g):
        return g * ag.cos(ctx.saved_tensors[0])

    f = sine(recorded).apply
    np.testing.assert_allclose(ag.jvp(f, (X,), (ONES,))[1], np.cos(X))
    np.testing.assert_allclose(ag.jacfwd(f)(X), np.diag(np.cos(X)))
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(f(x)))(X), np.diag(-np.sin(X)))


def test_a_gradient_handed_on_is_recorded():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g

    np.testing.assert_allclose(ag.jvp(Same.apply, (X,), (ONES,))[1], ONES)


class Round(Function):
    """A step function, whose derivative is zero and says so."""

    @staticmethod
    def forward(ctx, x):
        return ag.round(x)

    @staticmethod
    def backward(ctx, g):
        return (None,)


def test_none_is_a_zero_gradient_in_every_transform():
    def f(x):
        return Round.apply(x) * x

    np.testing.assert_allclose(ag.jvp(f, (X,), (ONES,))[1], X)
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(f(x) * x))(X), np.diag(2 * X))


def test_zeros_are_refused_as_they_may_have_been_computed():
    class Flat(Round):
        @staticmethod
        def backward(ctx, g):
            return ag.zeros_like(g)

    with pytest.raises(RuntimeError, match=r"Flat\.backward .* return None where a gradient is zero"):
        ag.jvp(lambda x: Flat.apply(x) * x, (X,), (ONES,))


def test_a_factor_without_gradient_of_its_own_keeps_the_second_derivative_zero():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    assert not ag.hessian(lambda x: ag.sum(Twice.apply(x)))(X).any()


# Several results


def two(backward, mark=False):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            s, c = ag.sin(x), ag.cos(x)
            if mark:
                ctx.mark_non_differentiable(c)
            return s, c

    Two.backward = staticmethod(backward)
    return Two.apply


def one_raw(ctx, gs, gc):
    (x,) = ctx.saved_tensors
    return gs * ag.cos(x) - gc.array * np.sin(x.array)


def first_alone(ctx, gs, gc):
    return gs * ag.cos(ctx.saved_tensors[0])


@pytest.mark.parametrize("backward", [one_raw, first_alone])
def test_a_result_whose_gradient_is_used_raw_is_refused(backward):
    f = two(backward)
    with pytest.raises(RuntimeError, match=r"Two\.backward used the gradient of result 2 raw or not at all"):
        ag.jvp(f, (X,), (ONES,))
    np.testing.assert_allclose(ag.jvp(lambda x: f(x)[0], (X,), (ONES,))[1], np.cos(X))


def test_a_second_derivative_by_the_other_results_gradient_is_right():
    x = ag.tensor(X, requires_grad=True)
    v, w = ag.tensor(ONES, requires_grad=True), ag.tensor(ONES, requires_grad=True)
    (g,) = ag.autograd.grad(two(one_raw)(x), x, (v, w), create_graph=True)
    np.testing.assert_allclose(ag.autograd.grad(g.sum(), v, retain_graph=True)[0].array, np.cos(X))
    with pytest.raises(RuntimeError, match=r"Two\.backward used the gradient of result 2"):
        ag.autograd.grad(g.sum(), w)


def test_a_result_that_is_marked_needs_no_gradient():
    _, tangent = ag.jvp(two(first_alone, mark=True), (X,), (ONES,))
    np.testing.assert_allclose(tangent[0], np.cos(X))
    np.testing.assert_allclose(tangent[1], 0.0)


def test_results_that_depend_on_one_argument_each():
    class Apart(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2.0, y * 3.0

        @staticmethod
        def backward(ctx, a, b):
            need_x, need_y = ctx.needs_input_grad
            return a * 2.0 if need_x else None, b * 3.0 if need_y else None

    tangents = ag.jvp(lambda x, y: Apart.apply(x, y), (X, X), (ONES, ONES))[1]
    np.testing.assert_allclose(tangents[0], 2 * ONES)
    np.testing.assert_allclose(tangents[1], 3 * ONES)
    y = ag.tensor(X, requires_grad=True)
    np.testing.assert_allclose(ag.jvp(lambda x: Apart.apply(x, y)[0], (X,), (ONES,))[1], 2 * ONES)


# primitive


def test_a_rule_of_a_primitive_that_does_not_record_is_refused():
    f = ag.primitive(np.sin)
    f.defvjp(lambda ans, x: lambda g: ag.asarray(np.asarray(ag.asarray(g).array) * np.cos(ag.asarray(x).array)))
    np.testing.assert_allclose(ag.jacrev(f)(X), np.diag(np.cos(X)))
    for derivative in FORWARD.values():
        with pytest.raises(RuntimeError, match=r"sin\.backward .* no derivative in forward mode"):
            derivative(f)


def test_once_differentiable_names_the_function_and_keeps_pytorchs_words():
    with pytest.raises(RuntimeError, match=re.escape("a function that was marked with @once_differentiable: Sine.")):
        ag.jvp(WAYS["once_differentiable"].apply, (X,), (ONES,))


# Hooks


def doubled_raw(g):
    return 2 * g.array


def doubled_detached(g):
    return 2 * g.detach()


def doubled(g):
    return 2 * g


REGISTER = {
    "at a tensor": lambda y, hook: y.register_hook(hook),
    "before a node": lambda y, hook: y.grad_fn.register_prehook(lambda grads: tuple(map(hook, grads))),
    "after a node": lambda y, hook: y.grad_fn.register_hook(lambda grads, _: tuple(map(hook, grads))),
    "after a node, of what it was given": lambda y, hook: y.grad_fn.register_hook(lambda _, given: (hook(given[0]),)),
}


def hooked(place, hook, of=ag.sin):
    def f(x):
        y = of(x)
        if y.requires_grad:
            REGISTER[place](y, hook)
        return y * 1.0

    return f


PLACES = pytest.mark.parametrize("place", list(REGISTER)[:3])
UNRECORDED_HOOKS = pytest.mark.parametrize("hook", [doubled_raw, doubled_detached])


@PLACES
@UNRECORDED_HOOKS
@pytest.mark.parametrize("derivative", FORWARD | TWICE)
def test_HK10_a_hook_that_does_not_record_has_no_further_derivative(place, hook, derivative):
    with pytest.raises(RuntimeError, match=r"hook '.*' returned.* Write the hook .* return 0 \* grad where"):
        (FORWARD | TWICE)[derivative](hooked(place, hook))


@PLACES
@UNRECORDED_HOOKS
def test_first_derivatives_past_a_hook_that_does_not_record_are_what_it_makes_them(place, hook):
    f = hooked(place, hook)
    np.testing.assert_allclose(ag.grad(lambda x: ag.sum(f(x)))(X), 2 * np.cos(X))
    np.testing.assert_allclose(ag.jacrev(f)(X), np.diag(2 * np.cos(X)))
    x = ag.tensor(X, requires_grad=True)
    (g,) = ag.autograd.grad(f(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.array, 2 * np.cos(X))


@PLACES
def test_a_hook_that_records_has_every_derivative(place):
    f = hooked(place, doubled)
    np.testing.assert_allclose(ag.jvp(f, (X,), (ONES,))[1], 2 * np.cos(X))
    np.testing.assert_allclose(ag.jacfwd(f)(X), np.diag(2 * np.cos(X)))
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(f(x)))(X), np.diag(-2 * np.sin(X)))


def test_a_hook_after_a_node_may_compute_from_what_the_node_was_given():
    f = hooked("after a node, of what it was given", lambda g: 3 * g)
    np.testing.assert_allclose(ag.jvp(f, (X,), (ONES,))[1], 3 * ONES)


def test_a_raw_array_of_a_hook_may_hold_the_value_of_its_leaf():
    x = ag.tensor(X, requires_grad=True)
    x.register_hook(lambda g: g.array * x.array)
    (g,) = ag.autograd.grad((3 * x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.array, 3 * X)
    with pytest.raises(RuntimeError, match=r"hook '<lambda>' returned a raw array"):
        ag.autograd.grad(g.sum(), x)


def test_a_constant_of_a_hook_for_a_constant_gradient_is_right():
    f = hooked("at a tensor", lambda g: ag.ones(2), of=lambda x: x * 1.0)
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(f(x)) + ag.sum(x**2))(X), 2 * np.eye(2))
