"""gradcheck, gradgradcheck, assert_allclose: right gradients pass, each kind of wrong one is found and named."""

import math

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import testing
from arraygrad.testing import GradcheckError, assert_allclose, gradcheck, gradgradcheck


def leaf(values):
    return ag.tensor(np.asarray(values), requires_grad=True)


def hooked(change):
    """Twice its argument, with a hook that changes the gradient, if there is one."""

    def f(x):
        y = x * 1.0
        y.register_hook(lambda g: None if g is None else change(g))
        return y * 2.0

    return f


@pytest.mark.parametrize(
    "f",
    [ag.sin, ag.exp, lambda x: x * x * x, lambda x: x.sum(), lambda x: (x, {"b": x * 2.0, "n": 3})],
    ids=["sin", "exp", "cube", "sum", "container"],
)
def test_right_gradients_pass(f):
    assert gradcheck(f, leaf([0.5, 1.5, -0.3])) is True


def test_several_inputs_are_all_checked():
    assert gradcheck(lambda a, b: a @ b, [leaf(np.ones((2, 3))), leaf(np.arange(3.0))])


def test_raw_arrays_and_floats_are_checked_where_no_tensor_is_given():
    assert gradcheck(lambda x, s, n: x * s * n, [np.array([1.0, 2.0]), 3.0, np.arange(2)])


def test_second_order():
    assert gradcheck(lambda x: x**3, leaf([1.0, 2.0]), order=2)


def test_second_derivatives_of_a_linear_function():
    assert gradgradcheck(lambda x: x * 3.0, leaf([1.0, 2.0]))


def test_given_grad_outputs_are_used():
    seen = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(g.tolist()))
        return y

    gradgradcheck(f, leaf([1.0, 2.0]), [np.array([3.0, 4.0])])
    assert [3.0, 4.0] in seen


@pytest.mark.parametrize(
    "f",
    [lambda z: z * z, lambda z: ag.abs(z), lambda z: ag.conj(z) * z * z, lambda z: ag.real(z) * ag.imag(z)],
    ids=["square", "abs", "conj", "parts"],
)
def test_complex_inputs(f):
    assert gradcheck(f, leaf([0.5 + 1.0j, -0.7 + 0.2j]), order=2)


def test_complex_results_of_real_inputs():
    assert gradcheck(lambda x: ag.exp(x * 1j), leaf([0.3, 1.0]))


def test_scalar_and_empty_inputs():
    assert gradcheck(lambda x, y: x * 2.0 + y.sum(), [leaf(1.5), leaf(np.zeros((0, 2)))])


def test_other_library():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    assert gradcheck(lambda x: ag.exp(x) * 2.0, strict.asarray([0.5, 1.0]), order=2)


# What is found


def test_wrong_factor_is_found_and_named():
    with pytest.raises(
        GradcheckError,
        match=r"the gradient of result 0 by input 1 is wrong: the largest difference is "
        r"2.*analytic[\s\S]*numeric",
    ):
        gradcheck(lambda a, b: a * 1.0 + hooked(lambda g: g * 2.0)(b), [leaf([1.0]), leaf([1.0])])


def test_result_is_named():
    with pytest.raises(GradcheckError, match="the gradient of result 1 by input 0 is wrong"):
        gradcheck(lambda x: (x * 2.0, hooked(lambda g: g * 1.01)(x)), leaf([1.0]))


def test_nan_is_found():
    with pytest.raises(GradcheckError, match="is wrong"):
        gradcheck(hooked(lambda g: g * float("nan")), leaf([1.0]))


def test_error_is_an_assertion_error():
    assert issubclass(GradcheckError, AssertionError)


def test_returns_false_instead_of_raising():
    assert gradcheck(hooked(lambda g: g * 2.0), leaf([1.0]), raise_exception=False) is False


def test_gradient_that_is_not_reproducible_is_found():
    count = iter(range(10**6))
    with pytest.raises(GradcheckError, match="not reproducible"):
        gradcheck(hooked(lambda g: g * (1.0 + 1e-9 * next(count))), leaf([1.0]))


def test_reproducibility_has_its_own_tolerance():
    count = iter(range(10**6))
    assert gradcheck(hooked(lambda g: g * (1.0 + 1e-12 * next(count))), leaf([1.0]), nondet_tol=1e-6)


def test_gradient_that_depends_on_undefined_or_zero_is_found():
    # The hook runs only where a gradient arrives: undefined is told apart from zeros.
    def f(x):
        y, z = x * 1.0, x * 1.0
        z.register_hook(lambda g: g + 1.0 * ag.asarray(np.all(g.numpy() == 0.0).astype(float)))
        return y, z

    with pytest.raises(GradcheckError, match="depends on whether the gradients of the other results are undefined"):
        gradcheck(f, leaf([1.0]))


@ag.primitive
def thrice(x):
    return x * 3.0


thrice.defvjp(lambda ans, x: lambda g: g * 2.0)


class Squared(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 2.0


def test_rules_of_the_users_own_are_named_where_a_gradient_is_wrong():
    with pytest.raises(GradcheckError, match=r"thrice \(.*test_gradcheck\.py:\d+\), Squared \(.*py:\d+\)\. Check each"):
        gradcheck(lambda x: ag.sum(thrice(Squared.apply(x))), [np.array([0.5, 1.0])])
    with pytest.raises(GradcheckError) as error:
        gradcheck(thrice, [np.array([0.5, 1.0])])
    assert "rules of your own" not in str(error.value)


def test_gradcheck_of_a_function_as_it_is_adopted():
    def f(x):
        out = np.zeros(2)
        out[0], out[1] = math.sin(x[0]), float(x[1]) ** 2
        return out

    x = [np.array([0.5, 1.0])]
    assert gradcheck(f, x, adopt=True, order=2)
    assert gradgradcheck(f, x, adopt=__name__)
    with pytest.raises(UserWarning, match="becomes a Python number"):
        gradcheck(f, [leaf([0.5, 1.0])], adopt=False)


def test_wrong_second_derivative_is_found():
    class Square(ag.autograd.Function):
        """Its backward takes a constant for the argument."""

        @staticmethod
        def forward(ctx, x):
            ctx.x = x.array
            return x.array**2

        @staticmethod
        def backward(ctx, g):
            return g * (2.0 * ctx.x)

    assert gradcheck(Square.apply, leaf([1.0, 2.0]))
    with pytest.raises(GradcheckError, match="second derivatives"):
        gradgradcheck(Square.apply, leaf([1.0, 2.0]))


# What is refused


def test_nothing_to_check():
    with pytest.raises(ValueError, match="no input requires grad"):
        gradcheck(ag.sin, ag.tensor([1.0]))
    with pytest.raises(ValueError, match="no result of f requires grad"):
        gradcheck(lambda x: x.detach(), leaf([1.0]))


def test_order_of_another_value():
    with pytest.raises(ValueError, match="order must be 1 or 2, got 3"):
        gradcheck(ag.sin, leaf([1.0]), order=3)


def test_number_of_grad_outputs_must_fit():
    with pytest.raises(ValueError, match="1 results require grad, but 2 grad_outputs were given"):
        gradgradcheck(lambda x: x * x, leaf([1.0]), [np.ones(1), np.ones(1)])


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="gradcheck: input 0 is float32, too coarse"):
        gradcheck(lambda x: x * 2.0, leaf(np.ones(2, dtype=np.float32)), raise_exception=False)


def test_single_precision_with_wide_tolerances_does_not_warn():
    assert gradcheck(ag.sin, leaf(np.ones(2, dtype=np.float32)), eps=1e-2, atol=1e-2, rtol=1e-2)


def test_inputs_that_do_not_require_grad_are_skipped():
    assert gradcheck(lambda a, b: a * ag.sign(b), [leaf([1.0]), ag.tensor([0.0])])


def test_inputs_are_not_changed():
    x = leaf([1.0, 2.0])
    raw = np.array([1.0, 2.0])
    gradcheck(lambda x: x * x, x)
    gradcheck(lambda x: x * x, raw)
    assert x.grad is None
    assert (x.tolist(), raw.tolist()) == ([1.0, 2.0], [1.0, 2.0])


# assert_allclose


def test_equal_results_pass():
    assert_allclose({"a": [ag.tensor([1.0]), 2.0]}, {"a": [np.array([1.0]), 2.0]})


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        ([1.0], [1.1], r"result\[0\]"),
        (np.ones(2), np.ones(3), "shapes differ"),
        (np.ones(2), np.ones(2, dtype=np.float32), "dtypes differ: float64 and float32"),
        ([1.0], (1.0,), "containers differ"),
        (np.array([np.nan]), np.array([1.0]), "nan"),
    ],
)
def test_differences_are_named(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_allclose(actual, expected)


def test_single_precision_has_a_wider_default():
    assert_allclose(np.ones(1, dtype=np.float32), np.ones(1, dtype=np.float32) + np.float32(1e-5))
    with pytest.raises(AssertionError):
        assert_allclose(np.ones(1), np.ones(1) + 1e-5)


def test_public_names_are_documented():
    for name in testing.__all__:
        assert getattr(testing, name).__doc__


# Results that change between evaluations


def after_the_first(first, then):
    """A function that is `first` when it is called first, `then` afterwards."""
    calls = []

    def f(x):
        calls.append(x)
        return (first if len(calls) == 1 else then)(x)

    return f


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (lambda x: (x * 2.0)[:1], r"result 0 has shape \(1,\) .* but shape \(2,\)"),
        (lambda x: ag.reshape(x * 2.0, (2, 1)), r"result 0 has shape \(2, 1\) .* but shape \(2,\)"),
        (lambda x: ag.astype(x * 2.0, "float32"), r"result 0 has dtype float32 .* but dtype float64"),
        (lambda x: (x * 2.0, x), r"2 results .* but 1"),
        (lambda x: ag.asarray(x.numpy()), r"0 results .* but 1"),
    ],
    ids=["shape", "axes", "dtype", "more", "none"],
)
def test_a_result_that_changes_between_evaluations_fails(then, message):
    with pytest.raises(GradcheckError, match=message):
        gradcheck(after_the_first(lambda x: x * 2.0, then), leaf([1.0, 2.0]))
    assert not gradcheck(after_the_first(lambda x: x * 2.0, then), leaf([1.0, 2.0]), raise_exception=False)


# Undefined gradients


def function_of(backward):
    class F(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * 2.0

    F.backward = staticmethod(backward)
    return F.apply


def test_a_single_result_whose_undefined_gradient_gives_numbers_fails():
    f = function_of(lambda ctx, g: ag.ones(2) * 2.0 if g is None else g * 2.0)
    with pytest.raises(GradcheckError, match=r"input 0 .*undefined"):
        gradcheck(f, leaf([1.0, 2.0]))
    assert gradcheck(f, leaf([1.0, 2.0]), check_undefined_grad=False)


def test_a_single_result_whose_undefined_gradient_raises_fails():
    f = function_of(lambda ctx, g: g * 2.0)
    with pytest.raises(GradcheckError, match="undefined") as caught:
        gradcheck(f, leaf([1.0, 2.0]))
    assert isinstance(caught.value.__cause__, TypeError)
    assert gradcheck(f, leaf([1.0, 2.0]), check_undefined_grad=False)


@pytest.mark.parametrize(
    "backward",
    [
        lambda ctx, g: None if g is None else g * 2.0,
        lambda ctx, g: ag.zeros_like(ctx.saved_tensors[0]) if g is None else g * 2.0,
    ],
)
def test_a_rule_that_makes_nothing_or_zeros_of_an_undefined_gradient_passes(backward):
    assert gradcheck(function_of(backward), leaf([1.0, 2.0]))


def test_several_results_that_are_all_undefined_are_tried_too():
    f = function_of(lambda ctx, g: ag.ones(2) if g is None else g * 2.0)
    with pytest.raises(GradcheckError, match="undefined"):
        gradcheck(lambda x: (f(x), x * 3.0), leaf([1.0, 2.0]))


# grad_outputs


def test_a_given_gradient_that_requires_none_is_a_constant():
    class Wrong(ag.autograd.Function):
        """Its second derivative by the gradient of its result is wrong, that by its argument is right."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2.0 * ctx.saved_tensors[0] * g.detach()

    x = leaf([1.0, 2.0])
    assert gradgradcheck(Wrong.apply, x, [ag.tensor([3.0, 4.0])])
    for g in (leaf([3.0, 4.0]), np.array([3.0, 4.0])):  # a raw array has no flag: it is checked, as an input would be
        with pytest.raises(RuntimeError, match=r"Wrong\.backward .* no second derivative"):
            gradgradcheck(Wrong.apply, x, [g])


def test_of_several_given_gradients_those_that_require_grad_are_checked():
    def f(x):
        return x * x, x * 3.0

    assert gradgradcheck(f, leaf([1.0, 2.0]), [ag.tensor([3.0, 4.0]), leaf([5.0, 6.0])])


def test_error_is_a_runtime_error_too_as_pytorchs_is():
    with pytest.raises(RuntimeError):
        gradcheck(hooked(lambda g: g * 1.5), leaf([1.0, 2.0]))


# Functions that write into their arguments


def doubled(x):
    x *= 2.0
    return np.sum(x * x)


def by_item(x):
    x[0] = x[1] * x[1]
    return np.sum(x**3)


def through_a_view(x):
    x[:1] *= 3.0
    return np.sum(x**3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("f", [doubled, by_item, through_a_view])
def test_a_function_may_write_into_its_arguments(f, order):
    x = np.array([0.5, 0.7])
    assert ag.gradcheck(f, [x], order=order)
    np.testing.assert_array_equal(x, [0.5, 0.7])


def test_a_function_may_write_into_a_constant_argument():
    def f(c, x):
        c *= 3.0
        x *= c
        return np.sum(x * x)

    c = np.array([2.0, 3.0])
    assert ag.gradcheck(f, [ag.asarray(c.copy()), ag.tensor([0.5, 0.7], requires_grad=True)])


def test_a_wrong_rule_is_found_where_a_function_writes():
    p = ag.primitive(lambda x: x * x)
    p.defvjp(lambda ans, x: lambda g: g * x)

    def f(x):
        x *= 2.0
        return np.sum(p(x))

    with pytest.raises(ag.testing.GradcheckError):
        ag.gradcheck(f, [np.array([0.5, 0.7])])
