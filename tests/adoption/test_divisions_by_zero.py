"""Divisions by zero and powers that overflow, where Python's floats raise and scalars of NumPy's do not."""

import numpy as np
import pytest

import arraygrad as ag

S = 0.6173


@pytest.mark.parametrize(
    "divide",
    [
        lambda y: 1.0 / (y - y), lambda y: y / 0.0, lambda y: y // 0.0, lambda y: y % 0.0, lambda y: divmod(y, 0.0),
        lambda y: (y - y) ** -1.0, lambda y: 0.0**-y, lambda y: (1000.0 * y) ** 300.0,
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x * 2,
        lambda x: 2.0 * x,
        lambda x: x + 1.0,
        lambda x: abs(x) * 3.0,
        lambda x: np.array([x, x]).tolist()[0] * 2.0,
    ],
)
def test_what_floats_raise_is_raised(divide, change):
    def caught(x):
        y = change(x)
        try:
            y = divide(y)
        except (ZeroDivisionError, OverflowError):
            y = x * 5.0
        return y * x

    assert ag.value_and_grad(caught)(S) == pytest.approx((caught(S), 10.0 * S))


@pytest.mark.parametrize(
    "divide",
    [
        lambda y: 1.0 / (y - y), lambda y: y / 0.0, lambda y: y // 0.0, lambda y: y % 0.0, lambda y: divmod(y, 0.0),
        lambda y: (y - y) ** -1.0, lambda y: 0.0**-y, lambda y: (1000.0 * y) ** 300.0,
    ],
)  # fmt: skip
@pytest.mark.parametrize("change", [lambda x: x * np.float64(2.0), lambda x: np.float64(3.0) + x])
def test_what_only_floats_raise_is_refused_where_floats_are_not_known(divide, change):
    def caught(x):
        y = change(x)
        try:
            y = divide(y)
        except (ZeroDivisionError, OverflowError):
            y = x * 5.0
        return y * x

    with pytest.raises(TypeError, match=r"raises (ZeroDivision|Overflow)Error for Python's floats.*numpy"):
        ag.value_and_grad(caught, adopt=True)(S)


def test_the_ways_out_that_the_refusal_names():
    def tested(x):
        y = 2.0 * x - 2.0 * x
        return x * 5.0 if y == 0 else 1.0 / y

    def by_numpy(x):
        y = 2.0 * x - 2.0 * x
        return np.where(y == 0, x * 5.0, np.divide(1.0, y + 1.0))

    for f in (tested, by_numpy):
        value, slope = ag.value_and_grad(f, adopt=True)(S)
        assert value == f(S)
        assert slope == 5.0


def test_arrays_divide_by_zero_as_numpys():
    def divided(v):
        return ((v[0] * 2.0) / (v[1] - v[1]), v.sum())[1]

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ag.grad(divided, adopt=True)(np.array([1.0, 2.0])), [1.0, 1.0])
