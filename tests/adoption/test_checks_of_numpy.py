"""numpy.testing in a function that is differentiated: its checks see plain values, and fail as in the plain call."""

import numpy as np
import numpy.testing as npt
import pytest
from numpy.testing import assert_allclose

import arraygrad as ag

X = np.array([0.5, 1.0, 2.0])
# Name -> (check(x) that holds, check(x) that fails) of an array and of a number.
CHECKS = {
    "assert_equal": (lambda x: np.testing.assert_equal(x, 1.0 * x), lambda x: np.testing.assert_equal(x, 2.0 * x)),
    "of containers": (
        lambda x: npt.assert_equal({"a": [x, 2]}, {"a": [x + 0.0, 2]}),
        lambda x: npt.assert_equal({"a": [x, 2]}, {"a": [x + 1.0, 2]}),
    ),
    "assert_almost_equal": (lambda x: npt.assert_almost_equal(x, x), lambda x: npt.assert_almost_equal(x, x + 1e-3)),
    "assert_approx_equal": (
        lambda x: npt.assert_approx_equal(np.sum(x), np.sum(x)), lambda x: npt.assert_approx_equal(np.sum(x), 1e3),
    ),
    "assert_array_equal": (lambda x: npt.assert_array_equal(x, x), lambda x: npt.assert_array_equal(x, x + 1.0)),
    "assert_array_less": (lambda x: npt.assert_array_less(x, 3.0), lambda x: npt.assert_array_less(x, 0.1)),
    "assert_array_almost_equal": (
        lambda x: npt.assert_array_almost_equal(x, x), lambda x: npt.assert_array_almost_equal(x, x + 0.1, decimal=3),
    ),
    "assert_allclose": (
        lambda x: assert_allclose(actual=x, desired=x), lambda x: assert_allclose(x, desired=1.1 * x, rtol=1e-3),
    ),
    "assert_array_max_ulp": (
        lambda x: npt.assert_array_max_ulp(x, x), lambda x: npt.assert_array_max_ulp(x, x * 1.1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("at", [X, 0.7], ids=["array", "number"])
@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_holds_says_nothing_and_one_that_fails_says_what_it_says_plainly(name, at):
    holds, fails = CHECKS[name]

    def f(x, check):
        check(x)
        return np.sum(x * x)

    f(at, holds)
    np.testing.assert_allclose(ag.grad(f)(at, holds), 2.0 * at)
    with pytest.raises(AssertionError) as plain:
        f(at, fails)
    with pytest.raises(AssertionError) as ours:
        ag.grad(f)(at, fails)
    assert str(ours.value).splitlines()[:3] == str(plain.value).splitlines()[:3]


def test_checks_of_what_is_raised_are_numpys():
    def f(x):
        with np.testing.assert_raises(ValueError):
            raise ValueError(x)
        return np.sum(x * x)

    np.testing.assert_allclose(ag.grad(f)(X), 2.0 * X)


def test_the_module_is_numpys_afterwards():
    ag.grad(lambda x: np.sum(x) + 0.0 * bool(np.testing.assert_equal(x, x)))(X)
    assert np.testing.assert_equal.__globals__["__name__"] == "numpy.testing._private.utils"
    with pytest.raises(AssertionError):
        np.testing.assert_equal(X, X + 1.0)
