"""In-place habits of NumPy code: updates, masks, slices, preallocated results, arguments that are overwritten; and what
is refused because a plain array's memory holds no gradient.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.asarray([0.5, 1.25, 2.0, 0.75])


def centred(x):
    x -= x.mean()
    x /= np.sqrt((x * x).mean())
    return np.sum(x * np.arange(4.0))


def masked(x):
    y = x * 2
    y[x > 1] = 0.5
    y[x < 0.6] *= x[x < 0.6]
    return np.sum(y * y)


def sliced(x):
    x[1:] += x[:-1]
    x[::2] *= 3
    return np.prod(x)


def preallocated(x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.tanh(out[i - 1] + x[i])
    return np.sum(out**2)


def through_out(x):
    np.multiply(x, 2.0, out=x)
    np.add(x, x[::-1].copy(), out=x, where=[True, False, True, True])
    return np.sum(np.sin(x))


def clipped_in_place(x):
    np.clip(x, 0.6, 1.5, out=x)
    x.sort()
    return np.sum(x * np.arange(4.0))


def put(x):
    np.put(x, [0, 2], x[1:3] * x[3])
    np.putmask(x, x > 1, x * x)
    np.copyto(x, x * 2, where=x < 0.9)
    return np.sum(x**2)


def diagonal(x):
    m = np.outer(x, x)
    np.fill_diagonal(m, x * 3)
    m.T[0, 1] = x[2]
    return np.sum(m * m)


HABITS = [centred, masked, sliced, preallocated, through_out, clipped_in_place, put, diagonal]


def halved(x):
    x *= 0.5
    return np.sin(x)


@pytest.mark.parametrize("f", HABITS)
def test_code_that_writes_in_place_is_differentiated(f):
    value, gradient = ag.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", HABITS)
def test_callers_array_changes_exactly_as_by_a_plain_call(f):
    plain, given = X.copy(), X.copy()
    f(plain)
    ag.grad(f)(given)
    np.testing.assert_array_equal(given, plain)


@pytest.mark.parametrize(
    ("transform", "f"),
    [(ag.jacobian, sliced), (ag.jacfwd, sliced), (ag.hessian, sliced), (ag.elementwise_grad, halved)],
    ids=["jacobian", "jacfwd", "hessian", "elementwise_grad"],
)
def test_every_transform_changes_the_callers_array_as_a_plain_call(transform, f):
    plain, given = X.copy(), X.copy()
    f(plain)
    transform(f)(given)
    np.testing.assert_array_equal(given, plain)


def test_arguments_in_containers_change_too():
    def f(p):
        p["a"] *= 2
        p["b"][0] += p["a"].sum()
        return p["b"].sum()

    given = {"a": np.ones(2), "b": np.zeros(2)}
    gradient = ag.grad(f)(given)
    assert given["a"].tolist() == [2.0, 2.0]
    assert given["b"].tolist() == [4.0, 0.0]
    assert gradient["a"].tolist() == [2.0, 2.0]
    assert gradient["b"].tolist() == [1.0, 1.0]


def t():
    return ag.tensor(1.5, requires_grad=True)


def v():
    return ag.tensor([1.0, 2.0], requires_grad=True)


def element(a):
    a[0] = t()


def flat(a):
    a.flat[0] = t()


def added(a):
    a[1] += t()


def part(a):
    a[:2] = v()


def mask(a):
    a[[True, False, True]] = v()


def everything(a):
    a[...] = t()


@pytest.mark.parametrize("write", [element, added, part, mask, everything])
@pytest.mark.parametrize("dtype", [float, complex, int])
def test_store_into_a_plain_array_is_refused_and_changes_nothing(write, dtype):
    a = np.zeros(3, dtype=dtype)
    with pytest.raises((TypeError, ValueError)) as caught:
        write(a)
    error = caught.value if isinstance(caught.value, TypeError) else caught.value.__cause__
    assert isinstance(error, TypeError)
    assert "plain array" in str(error)
    assert "arraygrad.asarray" in str(error)
    assert "arraygrad.adopt(f)" in str(error)
    assert not a.any()


def test_inside_a_transform_the_refusal_is_the_advice_itself():
    def f(x):
        out = np.zeros(2)
        out[0] = x[0]
        return out.sum()

    with pytest.raises(TypeError, match=r"in test_inside.*plain array.*adopt=True.*arraygrad\.asarray\(x, copy=True\)"):
        ag.grad(f, adopt=False)(np.ones(2))


def test_other_value_errors_of_a_function_pass_through():
    def f(x):
        raise ValueError("of the user")

    with pytest.raises(ValueError, match="of the user"):
        ag.grad(f)(np.ones(2))


@pytest.mark.parametrize(
    "write",
    [
        lambda a: np.copyto(a, t()),
        lambda a: np.put(a, [0], v()),
        lambda a: np.putmask(a, [True, False, True], v()),
        lambda a: np.place(a, [True, False, True], v()),
        lambda a: np.put_along_axis(a, np.asarray([0]), v()[:1], 0),
        lambda a: np.fill_diagonal(a.reshape(3, 1), v()),
        lambda a: np.add.at(a, [0], v()[:1]),
        lambda a: np.add(a, t(), out=a),
        lambda a: np.full(3, t()),
        lambda a: a.__iadd__(t()),
    ],
)
def test_function_that_writes_into_a_plain_array_is_refused_with_advice(write):
    a = np.zeros(3)
    with pytest.raises(TypeError, match=r"can't be written into|arraygrad\.asarray"):
        write(a)
    assert not a.any()


def test_explicit_numbers_may_be_written():
    a = np.zeros(4)
    with pytest.warns(UserWarning, match="becomes a Python number"):
        a[0] = float(t())
    a[1] = t().item()
    a[2] = t().detach()
    with ag.no_grad():
        a[3] = t()
    assert a.tolist() == [1.5] * 4


def test_float_of_a_recorded_tensor_in_a_list_or_dict_is_no_write():
    kept = {}
    with pytest.warns(UserWarning, match="becomes a Python number"):
        kept["loss"] = float(t())
    assert kept == {"loss": 1.5}
