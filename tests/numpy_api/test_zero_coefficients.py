"""Polynomials whose outermost coefficients are zero: NumPy cuts these off, and no gradient is lost with them.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag


@pytest.mark.parametrize("c", [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
@pytest.mark.parametrize(
    "f", [lambda c: np.poly1d(c)(2.0), lambda c: np.polyval(np.polymul(c, np.asarray([1.0, 1.0])), 2.0)]
)
def test_leading_zeros_that_require_grad_are_not_cut_off_unseen(f, c):
    with pytest.raises(TypeError, match="would be cut off, but they require grad"):
        ag.grad(f)(np.asarray(c))


def test_leading_zeros_of_constants_are_cut_off_as_in_numpy():
    zeros = np.asarray([0.0, 1.0, 2.0])
    value, pull = ag.vjp(lambda c: np.polymul(zeros, c), np.asarray([3.0, 1.0]))
    np.testing.assert_array_equal(value, np.polymul(zeros, [3.0, 1.0]))
    np.testing.assert_array_equal(pull(np.ones(3))[0], [3.0, 3.0])


def test_elements_that_are_chosen_by_being_no_zeros_are_still_trimmed():
    x = np.asarray([0.2, 0.7, 0.9])
    np.testing.assert_array_equal(
        ag.grad(lambda x: np.sum(np.trim_zeros(np.where(x > 0.5, x, 0.0))))(x), [0.0, 1.0, 1.0]
    )


# A root at zero, and a degree that is lower by one: the other roots depend on these coefficients too.
@pytest.mark.parametrize("c", [[1.0, -3.0, 0.0], [2.0, -3.0, -2.0, 0.0], [1.0, 0.5, 2.0, 0.0]])
def test_roots_depend_on_trailing_coefficients_that_are_zero(c):
    c = np.asarray(c)

    def f(c):
        return np.sum(np.abs(np.sort_complex(np.roots(c)) - 0.3) ** 2)

    value, gradient = ag.value_and_grad(f)(c)
    np.testing.assert_allclose(value, f(c), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, c), rtol=1e-5, atol=1e-8)


def test_roots_that_stay_depend_on_leading_coefficients_that_are_zero():
    (gradient,) = ag.vjp(np.roots, np.asarray([0.0, 1.0, -2.0]))[1](np.ones(1))
    np.testing.assert_allclose(gradient, [-4.0, -2.0, -1.0], rtol=1e-14)


def test_second_derivative_of_a_root_at_zero():
    """x^2 + b x + c at c = 0: the root at zero is -c / b - c^2 / b^3 - ..."""
    hessian = ag.hessian(lambda c: ag.min(ag.real(np.roots(c))))(np.asarray([1.0, 3.0, 0.0]))
    at_zero = ag.hessian(lambda c: ag.max(ag.real(np.roots(c))))(np.asarray([1.0, 3.0, 0.0]))
    np.testing.assert_allclose(at_zero[1:, 1:], [[0.0, 1 / 9], [1 / 9, -2 / 27]], atol=1e-14)
    np.testing.assert_allclose(hessian + at_zero, [[-6.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-13)


def test_multiple_root_at_zero_is_refused():
    with pytest.raises(TypeError, match="not simple"):
        ag.vjp(np.roots, np.asarray([1.0, 1.0, 0.0, 0.0]))
