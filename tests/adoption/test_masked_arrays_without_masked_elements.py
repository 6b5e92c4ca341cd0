"""Masked arrays of recorded data in which nothing is masked: values, classes, masks and gradients are the plain call's.

Each line runs for each way to make such an array. Masked elements are in test_masked_arrays.py.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5, 2.5])
MAKE = {
    "asarray": lambda x: np.ma.asarray(x * 1.0),
    "array": lambda x: np.ma.array(x),
    "no mask": lambda x: np.ma.array(x, mask=[False, False, False]),
    "masked_invalid": lambda x: np.ma.masked_invalid(x),
    "masked_where": lambda x: np.ma.masked_where(x > 9.0, x),
    "masked_equal": lambda x: np.ma.masked_equal(x, -1.0),
    "of an object": lambda x: np.ma.asarray(np.ma.array(x)),
    "of a list": lambda x: np.ma.array([x[0], x[1], x[2]]),
}


def set_items(m, value):
    m[0] = value
    m[1:] *= 2.0
    return m


def in_place(m, value):
    m += value
    m *= m
    return m


LINES = {
    "itself": lambda m, x: m,
    "operators": lambda m, x: 2.0 * m - m / (1.0 + m * m) + m**2,
    "beside an array": lambda m, x: m * x + np.array([1.0, 2.0, 3.0]) * m,
    "two": lambda m, x: m * np.ma.asarray(x),
    "ufuncs": lambda m, x: np.sin(m) + np.ma.exp(m) + np.ma.sqrt(m),
    "sum": lambda m, x: m.sum(),
    "mean": lambda m, x: m.mean() * np.ma.mean(m),
    "std": lambda m, x: m.std() + np.ma.var(m),
    "max": lambda m, x: m.max() - np.ma.min(m),
    "average": lambda m, x: np.ma.average(m, weights=[1.0, 2.0, 3.0]),
    "dot": lambda m, x: np.ma.dot(m, x) + np.dot(m, m),
    "dot of an array": lambda m, x: np.outer(x, x).dot(m),
    "atleast_2d": lambda m, x: np.ma.atleast_2d(m).T * x,
    "item": lambda m, x: m[1] * m[-1],
    "slice": lambda m, x: m[1:],
    "mask as an index": lambda m, x: m[m > 1.0],
    "not masked": lambda m, x: m[~np.ma.getmaskarray(m)],
    "filled": lambda m, x: m.filled(0.0) * np.ma.filled(m, 1.0),
    "compressed": lambda m, x: m.compressed(),
    "data": lambda m, x: m.data * np.ma.getdata(m),
    "concatenate": lambda m, x: np.ma.concatenate([m, m]),
    "vstack": lambda m, x: np.ma.vstack([m, x]),
    "reshape": lambda m, x: m.reshape(3, 1),
    "copy": lambda m, x: set_items(m.copy(), x[2]) + m,
    "set": lambda m, x: set_items(m, x[1] * 3.0),
    "in place": lambda m, x: in_place(m, x),
    "asarray": lambda m, x: np.asarray(m) ** 2,
    "questions": lambda m, x: x * (1.0 if np.ma.is_masked(m) else 2.0) * np.ma.count(m) * np.ma.isMaskedArray(m),
    "isinstance": lambda m, x: x * isinstance(m, np.ma.MaskedArray) * isinstance(m, np.ndarray),
    "getmask": lambda m, x: m if not np.any(np.ma.getmask(m)) else -m,
    "float": lambda m, x: float(m[0]) * x,
    "iterated": lambda m, x: sum(v * v for v in m),
    "linalg": lambda m, x: np.linalg.norm(np.asarray(m)),
}


def differences(f, x, h=1e-4):
    found = np.zeros_like(x)
    for i, e in enumerate(np.eye(x.size) * h):
        found[i] = (8.0 * (f(x + e) - f(x - e)) - (f(x + 2.0 * e) - f(x - 2.0 * e))) / (12.0 * h)
    return found


@pytest.mark.parametrize("name", LINES)
def test_line(name):
    for make in MAKE.values():
        kinds = []

        def loss(x, make=make, kinds=kinds):
            x = x * 1.0
            made = LINES[name](make(x), x)
            kinds.append((type(made) if np.ndim(made) else None, np.shape(made), np.any(np.ma.getmask(made))))
            flat = np.ma.getdata(made).reshape(-1)
            return (flat * np.cos(np.arange(1.0, flat.size + 1.0))).sum()

        plain = loss(X)
        value, grad = ag.value_and_grad(loss)(X)
        assert kinds[0] == kinds[1]
        np.testing.assert_allclose(value, plain, rtol=1e-14)
        np.testing.assert_allclose(grad, differences(loss, X), rtol=1e-7, atol=1e-9)


REFUSED = {
    "a fit": lambda m, x: np.ma.polyfit([1.0, 2.0, 3.0], m, 1),
    "the class": lambda m, x: np.ma.MaskedArray(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused(name):
    with pytest.raises(TypeError, match=r"test_masked_arrays_without_masked_elements\.py:\d+, in .*masked array"):
        ag.grad(lambda x: np.ma.asarray(REFUSED[name](np.ma.array(x), x)).sum())(X)


def test_plain_masked_arrays_stay_numpys():
    mask = np.array([False, True, False])

    def f(x):
        weights = np.ma.array([1.0, 2.0, 3.0], mask=mask)
        assert type(weights) is np.ma.MaskedArray
        return (x * weights.filled(0.0)).sum() * weights.mean()

    np.testing.assert_array_equal(ag.grad(f)(X), [2.0, 0.0, 6.0])
    assert np.ma.array is not None
    assert type(np.ma.array([1.0])) is np.ma.MaskedArray


def test_second_derivatives():
    found = ag.hessian(lambda x: (np.ma.asarray(x) ** 3).sum() * np.ma.masked_invalid(x).mean())(X)
    rows = [(3.0 * X[i] ** 2 * np.ones(3) + 3.0 * X**2) / 3.0 for i in range(3)]
    np.testing.assert_allclose(found, np.array(rows) + np.diag(6.0 * X * X.mean()))
