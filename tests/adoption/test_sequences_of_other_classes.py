"""Named tuples, deques and classes derived from list that hold recorded numbers, as NumPy's functions get them."""

import collections
import typing
import warnings

import numpy as np
import pytest

import arraygrad as ag


class Row(list):
    pass


class Fixed(tuple):
    pass


class State(typing.NamedTuple):
    position: float
    speed: float


SEQUENCES = {
    "list": Row, "tuple": Fixed, "named tuple": State._make, "deque": collections.deque,
    "bounded deque": lambda items: collections.deque(items, 2), "user's list": collections.UserList,
}  # fmt: skip
FUNCTIONS = {
    "sum": np.sum, "mean": np.mean, "std": np.std, "max": np.max, "prod": np.prod, "cumsum": np.cumsum,
    "stack": np.stack, "concatenate": lambda v: np.concatenate([v, v]), "hstack": np.hstack, "vstack": np.vstack,
    "rows": lambda v: np.stack([v, v])[1], "array": np.array, "asarray": np.asarray, "atleast_1d": np.atleast_1d,
    "dot": lambda v: np.dot(v, [1.0, 2.0]), "dot on the right": lambda v: np.dot([1.0, 2.0], v), "norm": np.linalg.norm,
    "multiply": lambda v: np.multiply(v, 2.0), "exp": np.exp, "interp": lambda v: np.interp(1.0, [0.0, 2.0], v),
    "where": lambda v: np.where([True, False], v, 0.0), "trapezoid": np.trapezoid, "named": lambda v: np.sum(a=v),
    "product of matrices": lambda v: np.matmul([[1.0, 2.0]], v),
}  # fmt: skip
X = np.array([0.7, 1.3])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", SEQUENCES)
def test_they_are_the_arrays_of_what_they_hold(kind, name):
    def f(x):
        return np.sum(FUNCTIONS[name](SEQUENCES[kind]([x[0], 2.0 * x[1]])) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = ag.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    ends = [[f(X + s * 1e-6 * one) for s in (1, -1)] for one in np.eye(2)]
    np.testing.assert_allclose(gradient, np.subtract(*np.transpose(ends)) / 2e-6, rtol=1e-6)
    ag.adopt.clear()


def test_a_refusal_that_is_caught_is_told_as_ever():
    def f(x):
        try:
            np.random.default_rng(0).gamma(x[0])
        except TypeError:
            pass
        return np.sum(State(x[0], x[1]))

    with pytest.warns(UserWarning, match="caught what arraygrad refused"):
        ag.grad(f)(X)
    ag.adopt.clear()
