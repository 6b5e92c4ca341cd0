"""Lists of plain numbers beside a Tensor, where an array may stand: results are those of the array."""

import numpy as np
import pytest

import arraygrad as ag

CALLS = {
    "add": lambda x, other: np.add(x, other),
    "maximum": lambda x, other: np.maximum(other, x),
    "fmin": lambda x, other: np.fmin(x, other),
    "fmod": lambda x, other: np.fmod(x, other),
    "hypot": lambda x, other: np.hypot(other, x),
    "interp": lambda x, other: np.interp(x, other, [3, 1, 0]),
    "correlate": lambda x, other: np.correlate(x, other),
    "convolve": lambda x, other: np.convolve(other, x),
    "polyadd": lambda x, other: np.polyadd(other, x),
    "append": lambda x, other: np.append(x, other),
    "vdot": lambda x, other: np.vdot(x, other),
}
LISTS = {"ints": [1, 2, 3], "floats": [1.0, 2.5, 3.5], "tuple": (1, 2, 3), "bools": [True, False, True]}


def value_and_gradient(call, x, other):
    t = ag.tensor(x, requires_grad=True)
    y = call(t, other)
    np.sum(y * np.arange(1.0, 1.0 + y.size).reshape(y.shape)).backward()
    return y, t.grad


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_a_list_gives_what_its_array_gives(name, dtype, given):
    x = np.array([0.75, 1.25, 2.25], dtype)
    if name in ("fmod", "correlate") and given is LISTS["bools"]:
        given = [True, True, True]  # no division by zero
    want = CALLS[name](x, given)
    by_list, slope = value_and_gradient(CALLS[name], x, given)
    by_array, expected = value_and_gradient(CALLS[name], x, np.asarray(given))
    assert by_list.dtype == want.dtype
    np.testing.assert_array_equal(by_list.detach().numpy(), want)
    np.testing.assert_array_equal(by_list.detach().numpy(), by_array.detach().numpy())
    np.testing.assert_array_equal(slope.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["add", "fmin", "append", "vdot"])
def test_a_list_that_holds_a_tensor_keeps_its_gradient(name):
    x, w = ag.tensor(np.array([0.75, 1.25]), requires_grad=True), ag.tensor(1.0, requires_grad=True)
    np.sum(CALLS[name](x, [w, 2.0])).backward()
    assert w.grad is not None
    step = 1e-6
    ends = [np.sum(CALLS[name](x.detach().numpy(), [1.0 + s, 2.0])) for s in (-step, step)]
    np.testing.assert_allclose(w.grad.numpy(), (ends[1] - ends[0]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CALLS)
def test_a_ragged_list_is_numpys_error(name):
    with pytest.raises((ValueError, TypeError)):
        CALLS[name](ag.tensor(np.ones(3), requires_grad=True), [1.0, [2.0, 3.0], 4.0])


def test_a_list_that_changes_after_the_call_changes_no_gradient():
    x, knots = ag.tensor(np.array([1.5]), requires_grad=True), [1.0, 2.0, 3.0]
    y = np.interp(x, knots, [0.0, 4.0, 5.0])
    knots[1] = 1.25
    y.sum().backward()
    assert x.grad.numpy() == [4.0]
