"""Note [Views in one step] in core/views.pyx: what is recorded in one step is what the general way records: views,
gathers, operations of one array beside others that have no derivative.

Each test runs both ways, and compares values, gradients, nodes, versions, and what writes do to them.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths

PLACES = np.array([2, 0, 1])
MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])

VIEWS = {
    "row": lambda t: t[1],
    "last row": lambda t: t[-1],
    "columns": lambda t: t[:, 1:],
    "step": lambda t: t[::-2, ::2],
    "new axis": lambda t: t[None, :, 1],
    "ellipsis": lambda t: t[..., 1],
    "one element as an array": lambda t: t[..., 1, 1],
    "all": lambda t: t[...],
    "nothing": lambda t: t[3:],
    "T": lambda t: t.T,
    "reshape": lambda t: t.reshape(4, 3),
    "reshape to one axis": lambda t: t.reshape(-1),
    "ravel": lambda t: np.ravel(t),
    "swapaxes": lambda t: np.swapaxes(t, 0, 1),
    "swapaxes of one": lambda t: np.swapaxes(t, 1, -1),
    "transpose": lambda t: np.transpose(t, (1, 0)),
    "moveaxis": lambda t: np.moveaxis(t, 0, 1),
    "expand_dims": lambda t: np.expand_dims(t, 0),
    "squeeze": lambda t: np.squeeze(t[:1], 0),
    "flip": lambda t: np.flip(t, 1),
    "flipud": lambda t: np.flipud(t),
    "fliplr": lambda t: np.fliplr(t),
    "diagonal": lambda t: np.diagonal(t),
    "broadcast_to": lambda t: np.broadcast_to(t, (2, 3, 4)),
    "view of a view": lambda t: t[1:][:, ::2].T,
}
GATHERS = {
    "rows": lambda t: t[PLACES],
    "rows and columns": lambda t: t[PLACES, PLACES],
    "rows of a column": lambda t: t[PLACES, 1],
    "slice and columns": lambda t: t[1:, PLACES],
    "mask": lambda t: t[MASK],
    "mask of rows": lambda t: t[MASK[:, 0]],
    "an array without axes": lambda t: t[np.array(1)],
    "two arrays without axes": lambda t: t[np.array(1), np.array(2)],
    "no row": lambda t: t[np.array([], int)],
}
WRITABLE = [name for name in VIEWS if name not in ("diagonal", "broadcast_to", "nothing")]
DTYPES = ("float32", "float64", "complex128")


def base(dtype="float64"):
    values = np.random.default_rng(0).normal(size=(3, 4))
    return (values + 1j * values.T.reshape(3, 4) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def both_ways(run):
    """run() in one step, and in the general way."""
    fast = run()
    previous = set_fast_paths(False)
    try:
        return fast, run()
    finally:
        set_fast_paths(previous)


def described(t):
    """What there is to see of a Tensor."""
    node = t.grad_fn
    return (
        t.numpy().tolist() if not t.requires_grad else t.detach().numpy().tolist(),
        t.dtype,
        t.shape,
        t.strides if t.size else None,
        t.requires_grad,
        t.version,
        None if node is None else node.name(),
        None if node is None else [nr for _, nr in node.next_functions],
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*VIEWS, *GATHERS])
def test_result_and_gradient_are_those_of_the_general_way(name, dtype):
    def run():
        x = ag.tensor(base(dtype), requires_grad=True)
        y = {**VIEWS, **GATHERS}[name](x * 1)
        weights = np.arange(1.0, y.size + 1).reshape(y.shape).astype(dtype)
        y.backward(weights)
        return described(y), x.grad.numpy()

    (fast, fast_grad), (general, general_grad) = both_ways(run)
    assert fast == general
    np.testing.assert_array_equal(fast_grad, general_grad)


@pytest.mark.parametrize("name", [*VIEWS, *GATHERS])
def test_gradients_of_gradients_are_those_of_the_general_way(name):
    def run():
        x = ag.tensor(base(), requires_grad=True)
        y = {**VIEWS, **GATHERS}[name](x**3)
        (g,) = ag.autograd.grad((y**2).sum(), x, create_graph=True)
        return ag.autograd.grad((g**2).sum(), x)[0].numpy()

    fast, general = both_ways(run)
    np.testing.assert_allclose(fast, general, rtol=1e-13)


@pytest.mark.parametrize("name", WRITABLE)
def test_write_through_a_view_reaches_its_base(name):
    def run():
        x = ag.tensor(base(), requires_grad=True)
        b = x * 1
        view = VIEWS[name](b)
        other = b[0]
        view *= 2
        (b**2).sum().backward()
        return described(b), described(view), described(other), b.version, x.grad.numpy()

    fast, general = both_ways(run)
    assert fast[:4] == general[:4]
    np.testing.assert_array_equal(fast[4], general[4])


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "nothing"])
def test_view_taken_before_its_base_is_written_has_the_new_history(name):
    def run():
        x = ag.tensor(base(), requires_grad=True)
        b = x * 1
        view = VIEWS[name](b)
        b *= 3
        view.sum().backward()
        return described(view), x.grad.numpy()

    fast, general = both_ways(run)
    assert fast[0] == general[0]
    np.testing.assert_array_equal(fast[1], general[1])


@pytest.mark.parametrize("name", list(GATHERS)[:6])
def test_gather_is_a_copy_that_later_writes_do_not_reach(name):
    def run():
        x = ag.tensor(base(), requires_grad=True)
        b = x * 1
        picked = GATHERS[name](b)
        before = picked.detach().numpy().copy()
        b *= 3
        np.testing.assert_array_equal(picked.detach().numpy(), before)
        picked.sum().backward()
        return x.grad.numpy()

    np.testing.assert_array_equal(*both_ways(run))


def test_arrays_of_indices_that_the_program_changes_later_do_not_change_the_gradient():
    def run():
        places = PLACES.copy()
        x = ag.tensor(base(), requires_grad=True)
        y = x[places] * np.arange(1.0, 4)[:, None]
        places[:] = 0
        y.sum().backward()
        return x.grad.numpy()

    fast, general = both_ways(run)
    np.testing.assert_array_equal(fast, general)
    np.testing.assert_array_equal(fast[:, 0], [2.0, 3.0, 1.0])


def test_write_through_a_view_made_under_no_grad_is_refused():
    def run():
        b = ag.tensor(base(), requires_grad=True) * 1
        with ag.no_grad():
            view = b[1]
        with pytest.raises(RuntimeError) as error:
            view *= 2
        return str(error.value)

    fast, general = both_ways(run)
    assert fast == general
    assert "no_grad" in fast


def test_view_in_inference_mode_of_an_ordinary_tensor_is_an_ordinary_one():
    def run():
        x = ag.tensor(base(), requires_grad=True)
        b = x * 1
        with ag.inference_mode():
            view = b[1]
        view.sum().backward()
        return x.grad.numpy()

    np.testing.assert_array_equal(*both_ways(run))


def test_hooks_around_saved_values_see_what_the_general_way_keeps():
    def run():
        packed = []
        x = ag.tensor(base(), requires_grad=True)
        with ag.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
            y = x[:, 1:].T[PLACES]
        y.sum().backward()
        return packed, x.grad.numpy().tolist()

    fast, general = both_ways(run)
    assert fast == general


def test_errors_of_wrong_keys_are_those_of_the_general_way():
    t = ag.tensor(base(), requires_grad=True)
    for key in (5, (0, 9), (1, 2, 3), (slice(None), 9), np.array([7]), MASK[:2], (PLACES, PLACES[:2])):

        def run(key=key):
            with pytest.raises(IndexError) as error:
                t[key]
            return str(error.value)

        fast, general = both_ways(run)
        assert fast == general


def test_anything_else_than_plain_keys_takes_the_general_way():
    def run():
        t = ag.tensor(base(), requires_grad=True)
        i = ag.asarray(np.array(1))
        keys = (True, np.int64(1), [0, 2], i, (i, slice(None)), t > 0, slice(np.int64(1), None))
        return [described(t[key]) for key in keys]

    fast, general = both_ways(run)
    assert fast == general


def test_tensor_without_axes_stays_a_scalar():
    def run():
        s = ag.tensor(base(), requires_grad=True).sum()
        old = s
        s += 1
        shown = s[None]
        shown += 1
        return [t.detach().numpy().tolist() for t in (old, s, shown)]

    fast, general = both_ways(run)
    assert fast == general


LONE = {
    "gammainc": lambda t: ag.special.gammainc(FLOATS, t),
    "gammaincinv": lambda t: ag.special.gammaincinv(FLOATS, ag.special.expit(t)),
    "betainc": lambda t: ag.special.betainc(FLOATS, 2.0, ag.special.expit(t)),
    "zeta": lambda t: ag.special.zeta(2.0 + FLOATS, t),
    "jv": lambda t: ag.special.jv(1.5, t),
    "kn": lambda t: ag.special.kn(2, t),
    "orders in single precision": lambda t: ag.special.gammainc(FLOATS.astype("f4"), t),
    "orders that are ints": lambda t: ag.special.jv(np.array([[0, 1, 2, 3]]), t),
    "take": lambda t: ag.take(t, PLACES, axis=1),
    "take_along_axis": lambda t: ag.take_along_axis(t, np.argsort(FLOATS, axis=1), axis=1),
    "repeat": lambda t: ag.repeat(t, np.array([1, 0, 2]), axis=0),
    "one element": lambda t: ag.special.gammainc(np.array(1.5), t[0, 0]),
    "no element": lambda t: ag.special.gammainc(np.zeros((0, 4)), t[3:]),
}
FLOATS = np.random.default_rng(1).uniform(0.5, 2.0, (3, 4))


def positive(dtype="float64"):
    return np.random.default_rng(0).uniform(0.5, 2.0, (3, 4)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LONE)
def test_operation_beside_arrays_without_derivative_is_that_of_the_general_way(name, dtype):
    pytest.importorskip("scipy.special")

    def run():
        x = ag.tensor(positive(dtype), requires_grad=True)
        y = LONE[name](x * 1)
        (g,) = ag.autograd.grad((y**2).sum(), x, create_graph=True)
        (second,) = ag.autograd.grad((g**2).sum(), x)
        with ag.no_grad():
            unrecorded = LONE[name](x)
        return described(y), g.detach().numpy(), second.numpy(), unrecorded.numpy(), unrecorded.requires_grad

    fast, general = both_ways(run)
    assert fast[0][1:] == general[0][1:]
    for a, b in zip(fast[1:], general[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_orders_that_are_written_afterwards_are_those_of_the_call():
    pytest.importorskip("scipy.special")
    orders = FLOATS.copy()
    t = ag.tensor(positive(), requires_grad=True)
    y = ag.special.gammainc(orders, t)
    orders[:] = 7.0
    y.backward(np.ones((3, 4)))
    expected = ag.tensor(positive(), requires_grad=True)
    ag.special.gammainc(FLOATS, expected).backward(np.ones((3, 4)))
    np.testing.assert_array_equal(t.grad.numpy(), expected.grad.numpy())


def test_order_that_requires_grad_is_refused_beside_a_tensor():
    pytest.importorskip("scipy.special")
    t = ag.tensor(positive(), requires_grad=True)
    with pytest.raises(TypeError, match="'a' requires grad, but gammainc has no derivative"):
        ag.special.gammainc(ag.tensor(FLOATS, requires_grad=True), t)


def test_lists_beside_a_tensor_are_left_to_the_general_way():
    pytest.importorskip("scipy.special")
    with pytest.raises(TypeError, match="expected a number or an array as parameter"):
        ag.special.gammainc(FLOATS.tolist(), ag.tensor(positive(), requires_grad=True))
