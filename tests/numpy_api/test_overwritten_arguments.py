"""`overwrite_input=True`: the gradient is that of the plain call, or the read of what NumPy left there is refused."""

import warnings

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6, -0.3, 0.9, 0.7])

REDUCTIONS = {
    "median": lambda a, **k: np.median(a, **k),
    "nanmedian": lambda a, **k: np.nanmedian(a, **k),
    "quantile": lambda a, **k: np.quantile(a, 0.3, **k),
    "nanquantile": lambda a, **k: np.nanquantile(a, [0.3, 0.6], **k),
    "percentile": lambda a, **k: np.percentile(a, 40.0, **k),
    "nanpercentile": lambda a, **k: np.nanpercentile(a, 70.0, **k),
}


def filled(x):
    y = np.zeros(6)
    y[:] = x
    return y


def strided(x):
    y = np.zeros((2, 6))
    y[:, ::2] = x.reshape(2, 3)
    return y[:, ::2]


ARGUMENTS = {
    "computed": lambda x: x * 2.0,
    "filled": filled,
    "rows": lambda x: x.reshape(2, 3) * 1.0,
    "columns": lambda x: np.asfortranarray(x.reshape(2, 3)),
    "strided": strided,
    "reversed": lambda x: filled(x)[::-1],
}


def weighed(a):
    return (np.asarray(a) ** 2 * np.arange(1, 1 + np.size(a)).reshape(np.shape(a))).sum()


def the_result_alone(y, x, reduced):
    return weighed(reduced(y))


def saved_before(y, x, reduced):
    z = np.sin(y)
    return weighed(reduced(y)) + weighed(z)


def read_afterwards(y, x, reduced):
    return weighed(reduced(y)) + weighed(np.sin(y))


def a_view_read_afterwards(y, x, reduced):
    view = y[..., ::2]
    return weighed(reduced(y)) + weighed(view)


def filled_anew(y, x, reduced):
    found = reduced(y)
    y[...] = 3.0 * x.reshape(y.shape)[..., ::-1]
    return weighed(found) + weighed(y)


def given_itself(y, x, reduced):
    return weighed(reduced(x)) + 0.0 * y.sum()


ALWAYS_RECORDED = (the_result_alone, saved_before, filled_anew, given_itself)


@pytest.mark.parametrize("program", [*ALWAYS_RECORDED, read_afterwards, a_view_read_afterwards])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("given", ARGUMENTS)
@pytest.mark.parametrize("axis", [None, -1])
def test_an_argument_that_may_be_overwritten(given, name, program, axis):
    def f(x):
        return program(ARGUMENTS[given](x), x, lambda y: REDUCTIONS[name](y, axis=axis, overwrite_input=True))

    if program not in ALWAYS_RECORDED:
        try:
            ag.grad(f, adopt=True)(X.copy())
        except RuntimeError as error:
            refusal = str(error)
        else:
            refusal = ""
        if "overwrite_input=True" in refusal:
            return
    value, gradient = ag.value_and_grad(f, adopt=True)(X.copy())
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)


def test_step_by_step_too():
    x = ag.tensor(X, requires_grad=True)
    y = x * 1.0
    np.median(y, axis=0, overwrite_input=True).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 0, 0.5, 0, 0, 0.5])
    np.testing.assert_array_equal(y.numpy(), np.partition(X, [2, 3, -1]))
    with pytest.raises(RuntimeError, match=r"overwrite_input=True.*a\.copy\(\)"):
        y.sum().backward()
    np.median(x, overwrite_input=True).backward()  # a leaf stays as it is
    np.testing.assert_array_equal(x.numpy(), X)


def test_a_plain_array_beside_tensors_gets_what_numpy_leaves():
    def f(q, data):
        return np.quantile(data, q, overwrite_input=True)

    plain, given = X.copy(), X.copy()
    expected = np.quantile(plain, 0.3, overwrite_input=True)
    value, gradient = ag.value_and_grad(f)(0.3, given)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(gradient, central_differences(lambda q: np.quantile(X, q[0]), np.array([0.3]))[0])


def test_what_is_not_recorded_is_overwritten_as_ever():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def f(x):
            table = np.array([3.0, 1.0, 2.0])
            np.median(table, overwrite_input=True)
            return x * table[2]

        assert ag.value_and_grad(f)(2.0) == (f(2.0), f(1.0))
