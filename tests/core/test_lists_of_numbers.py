"""Lists of single numbers, joined in one step: what they give is what the ordinary path gives.

See Note [Lists of numbers] in core/number_lists.pyx. The ordinary path is taken with set_fast_paths(False).
"""

import sysconfig

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.core.number_lists import joined_numbers


def numbers():
    y = ag.tensor([0.3, -1.2, 2.5], requires_grad=True)
    return y, [y[0] * 1.0, y[1] * y[2], y[2].copy()]


LISTS = {
    "one": lambda a, b, c: [a],
    "three": lambda a, b, c: [a, b, c],
    "a tuple": lambda a, b, c: (a, b),
    "twice the same": lambda a, b, c: [a, a, b, a],
    "numbers among them": lambda a, b, c: [0.5, a, np.float64(2.5), 3, b, -0.0],
    "a constant among them": lambda a, b, c: [a, ag.asarray(np.array(2.0)), b.detach()],
    "a matrix": lambda a, b, c: [[a, -b], [b, a]],
    "rows of one": lambda a, b, c: [[a], (b,), [1.0]],
    "three axes": lambda a, b, c: [[[a, b]], [[c, 0.0]]],
    "five axes": lambda a, b, c: [[[[[a, b]]]]],
    "a row of another kind": lambda a, b, c: [[b, a], [c, np.int64(1)]],
}
MAKERS = {"asarray": ag.asarray, "stack": np.stack, "hstack": np.hstack}


def outcome(make, listed):
    y, parts = numbers()
    out = make(listed(*parts))
    weights = np.arange(1.0, out.size + 1).reshape(out.shape)
    (out * out * weights).sum().backward()
    return out.dtype, out.shape, out.detach().numpy().tobytes(), y.grad.numpy().tobytes(), type(out.grad_fn).__name__


def plainly(f, *args):
    before = set_fast_paths(False)
    try:
        return f(*args)
    finally:
        set_fast_paths(before)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", LISTS)
def test_a_list_gives_the_bits_and_gradients_of_the_ordinary_path(name, maker):
    nested = isinstance(LISTS[name](*numbers()[1])[0], list) or name == "a row of another kind"
    if (maker == "stack" and nested) or (maker == "hstack" and (nested or "among" in name)):
        pytest.skip("NumPy asks no Tensor that lies in lists, and joins numbers beside Tensors otherwise")
    assert outcome(MAKERS[maker], LISTS[name]) == plainly(outcome, MAKERS[maker], LISTS[name])


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_the_result_is_an_array_of_its_own():
    _, (a, b, _) = numbers()
    for listed in ([a, b], [[a, b], [b, a]]):
        out = ag.asarray(listed)
        assert out.base is None or FREE_THREADED  # there a nested list is reshaped
        out[0] = 1.0
        out += 1.0
        assert out.requires_grad


@pytest.mark.parametrize(
    "items",
    [
        [],
        [1.0, 2.0],
        [[1.0], [2.0]],
        [[]],
        "text",
        np.ones(2),
        None,
        [1.0, "a"],
        [None],
        [np.float32(1.0)],
        [True],
        [2**60],
        [1j],
    ],
)
def test_what_holds_no_tensor_is_declined(items):
    assert joined_numbers(items) is None


@pytest.mark.parametrize(
    "listed",
    [
        lambda a, b: [a, True],
        lambda a, b: [a, 1j],
        lambda a, b: [a, np.float32(1.0)],
        lambda a, b: [a, 2**60],
        lambda a, b: [a, [b]],
        lambda a, b: [[a], b],
        lambda a, b: [[a, b], [a]],
        lambda a, b: [a, []],
        lambda a, b: [a, np.ones(1)],
        lambda a, b: [a, b.astype(np.float32)],
        lambda a, b: [a, ag.asarray(np.array(1))],
        lambda a, b: [a, None],
        lambda a, b: [a, b.reshape(1)],
    ],
)
def test_what_is_no_number_of_double_precision_is_declined(listed):
    _, (a, b, _) = numbers()
    assert joined_numbers(listed(a, b)) is None


def test_a_list_that_holds_itself_is_declined():
    _, (a, _, _) = numbers()
    items = [[a]]
    items[0].append(items)
    assert joined_numbers(items) is None


def test_nothing_is_recorded_where_grad_mode_is_off():
    _, (a, b, _) = numbers()
    with ag.no_grad():
        assert not ag.asarray([a, b]).requires_grad
    assert not ag.asarray([a.detach(), 1.0]).requires_grad


def test_derivatives_of_higher_order():
    def f(y):
        m = ag.asarray([[y[0], y[0] * y[1]], [y[1] ** 2, 1.0]])
        return ((m @ m) ** 2).sum() + (ag.asarray([y[0], y[1] * y[0]]) ** 3).sum()

    def plain_f(y):
        return plainly(f, y)

    y = np.array([0.7, -1.3])
    np.testing.assert_allclose(ag.hessian(f)(y), ag.hessian(plain_f)(y), rtol=1e-13)
    np.testing.assert_allclose(ag.jacobian(ag.grad(f))(y), ag.hessian(plain_f)(y), rtol=1e-13)
    direction = np.array([1.0, 2.0])
    np.testing.assert_allclose(ag.jvp(f, (y,), (direction,))[1], ag.grad(plain_f)(y) @ direction, rtol=1e-13)


def test_a_jacobian_of_a_list():
    def f(y):
        return ag.asarray([y[0] * y[1], y[1], 2.0, y[0] ** 2])

    expected = [[3.0, 2.0], [0.0, 1.0], [0.0, 0.0], [4.0, 0.0]]
    np.testing.assert_array_equal(ag.jacobian(f)(np.array([2.0, 3.0])), expected)


def test_the_graph_can_be_kept_and_run_again():
    y, (a, b, _) = numbers()
    out = ag.asarray([a, b, a])
    total = (out * np.array([1.0, 2.0, 3.0])).sum()
    total.backward(retain_graph=True)
    first = y.grad.numpy().copy()
    total.backward()
    np.testing.assert_array_equal(y.grad.numpy(), 2 * first)


def test_a_gradient_that_the_program_holds_is_not_written():
    _, (a, b, _) = numbers()
    out = ag.asarray([a, b])
    given = np.array([1.0, 2.0])
    out.backward(ag.asarray(given))
    np.testing.assert_array_equal(given, [1.0, 2.0])


def test_hooks_on_the_result_and_on_its_parts_run():
    _, (a, b, _) = numbers()
    seen = []
    out = ag.asarray([a, b])
    a.register_hook(lambda g: seen.append(("a", float(g))))
    out.register_hook(lambda g: seen.append(("out", g.numpy().tolist())))
    (out * np.array([2.0, 5.0])).sum().backward()
    assert seen == [("out", [2.0, 5.0]), ("a", 2.0)]


def test_gradients_of_another_layout():
    y, (a, b, c) = numbers()
    out = ag.asarray([a, b, c])
    doubled = np.arange(6.0)[::2]
    out.backward(ag.asarray(doubled))
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, 2.0 * 2.5, 2.0 * -1.2 + 4.0])


def test_in_adopted_functions_arrays_of_numbers_are_joined():
    def f(y):
        for _ in range(3):
            rotation = np.array([[np.cos(y[0]), -np.sin(y[0])], [np.sin(y[0]), np.cos(y[0])]])
            y = y + 0.1 * np.array([y[1], -y[0] * 2]) + rotation @ np.array([y[0], 1.0], dtype=float)
        return np.sum(y**2)

    y = np.array([0.4, -0.3])
    value, grad = ag.value_and_grad(f, adopt=True)(y)
    assert value == f(y)
    for i in range(2):
        d = np.eye(2)[i] * 1e-6
        np.testing.assert_allclose(grad[i], (f(y + d) - f(y - d)) / 2e-6, rtol=1e-6)


# Lists as indices


@pytest.mark.parametrize(
    "key",
    [
        [1, 0, 2],
        [0, 0, -1],
        [True, False, True],
        [1],
        ([0, 1], [1, 0]),
        (slice(None), [0, 2]),
        ([0, 1], slice(1)),
        ([True, False, True], 1),
        (..., [2, 0]),
        ([0, 1], None),
    ],
    ids=str,
)
def test_lists_of_ints_and_bools_index_as_arrays_do(key):
    x = np.arange(9.0).reshape(3, 3)
    for shape in ((3, 3), (9,)):
        data = x.reshape(shape)
        if data.ndim < 2 and (isinstance(key, tuple) or isinstance(key[0], bool)):
            continue
        as_arrays = tuple(np.array(k) if isinstance(k, list) else k for k in key) if isinstance(key, tuple) else key
        t = ag.tensor(data, requires_grad=True)
        out = t[key]
        assert out.detach().numpy().tobytes() == data[key].tobytes()
        (out**2).sum().backward()
        other = ag.tensor(data, requires_grad=True)
        (other[np.array(key) if isinstance(key, list) else as_arrays] ** 2).sum().backward()
        np.testing.assert_array_equal(t.grad.numpy(), other.grad.numpy())


@pytest.mark.parametrize("key", [[9], [-4], [True, False], [2**70], [0.5], ["a"], [[0, 1], [0]], [None]], ids=str)
def test_bad_lists_are_numpys_errors(key):
    x = np.arange(3.0)
    found = expected = None
    try:
        expected = x[key]
    except (IndexError, ValueError) as error:
        expected = type(error), str(error)
    try:
        found = ag.tensor(x, requires_grad=True)[key].detach().numpy()
    except (IndexError, ValueError) as error:
        found = type(error), str(error)
    if isinstance(expected, tuple):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


def test_a_list_that_changes_after_the_call_changes_no_gradient():
    t = ag.tensor(np.arange(3.0), requires_grad=True)
    key = [0, 2]
    out = t[key]
    key[0] = 1
    out.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), [1.0, 0.0, 1.0])
