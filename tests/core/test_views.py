"""Views and writes in place: what is recorded, on which history, and what is refused (VW1-VW6)."""

import gc
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, nodes_of, same

import arraygrad as ag
from arraygrad.core.value import backend_of, register_backend, set_backend_namespaces

DATA = np.arange(1.0, 7.0).reshape(2, 3)


def item(t):
    t[0] = t[1] * 2.0


def item_added(t):
    t[0] += t[1] * t[1]


def transposed(t):
    t.T[0] = t.T[1] * 3.0


def transposed_all(t):
    t.T[...] *= 2.0


def chain(t):
    t[1:][0][1:] *= t[0, 1:]


def view_of_a_view(t):
    v = t[1]
    w = v[1:]
    w *= 5.0
    v *= v


def both_ends(t):
    v = t[:, 0]
    t *= 2.0
    v *= 3.0
    t += 1.0


def overlapping(t):
    a, b = t[:, :2], t[:, 1:]
    a *= 2.0
    b *= a


def reshaped(t):
    v = ag.reshape(t, (6,))
    v[1:5] *= v[:4]


def reshaped_whole(t):
    v = ag.reshape(t, (6,))
    v *= v


def flipped(t):
    v = ag.flip(t, axis=1)
    v[:, 0] = v[:, 1] ** 2.0


def squeezed(t):
    v = ag.squeeze(t[:1], axis=0)
    v *= t[1]


def expanded(t):
    v = ag.expand_dims(t, axis=0)
    v[0, 0] = v[0, 1] * v[0, 0]


def constant_item(t):
    t[0, 1] = 7.0


def constant_through_view(t):
    v = t[0]
    v[...] = 7.0
    v *= t[1]


def masked(t):
    t[t > 3.0] *= 2.0


def fancy(t):
    t[np.array([0, 1]), np.array([1, 2])] = t[0, :2] * t[1, :2]


def with_out(t):
    np.multiply(t, t, out=t)


def with_out_of_a_view(t):
    np.add(t[0], t[1], out=t[0])


def ufunc_inplace_constant(t):
    np.add(t, 1.0, out=t)


def itself(t):
    t[0] = t[1]
    t[1] = t[0] * t[1]


def shifted(t):
    t[:, 1:] = t[:, :-1] * 2.0


def floored(t):
    v = t[0]
    v //= 2.0


WRITES = (
    item, item_added, transposed, transposed_all, chain, view_of_a_view, both_ends, overlapping, reshaped,
    reshaped_whole, flipped, squeezed, expanded, constant_item, constant_through_view, masked, fancy, with_out,
    with_out_of_a_view, ufunc_inplace_constant, itself, shifted, floored,
)  # fmt: skip


@pytest.fixture(params=WRITES, ids=lambda write: write.__name__)
def write(request):
    return request.param


def written(write, layout=None):
    """The function of an array that a write makes: its result depends on what was there before and after."""

    def f(x):
        t = x * 1.0
        if layout == "transposed":
            t = t.T.copy().T
        before = ag.sin(t)
        write(t)
        return ag.sum(ag.sin(t * 0.3) * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) + ag.sum(before * t)

    return f


def numeric_gradient(write):
    """By central differences, through plain NumPy arrays."""

    def f(array):
        t = array.copy()
        before = np.sin(t)
        write(t) if write not in (reshaped, reshaped_whole, flipped, squeezed, expanded) else write(ag.asarray(t))
        return np.sum(np.sin(t * 0.3) * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) + np.sum(before * t)

    gradient = np.empty_like(DATA)
    for i in np.ndindex(*DATA.shape):
        step = np.zeros_like(DATA)
        step[i] = 1e-6
        gradient[i] = (f(DATA + 0.1 + step) - f(DATA + 0.1 - step)) / 2e-6
    return gradient


@pytest.mark.parametrize("layout", [None, "transposed"])
def test_VW2_writes_are_recorded_through_views(write, layout):
    if layout and write in (reshaped, reshaped_whole):
        pytest.skip("reshaping a transposed array copies it: there is no view to write")
    found = ag.grad(written(write, layout))(DATA + 0.1)
    np.testing.assert_allclose(found, numeric_gradient(write), rtol=1e-6, atol=1e-7)


def test_VW2_second_derivatives_of_writes(write):
    f = written(write)

    def along(x):
        return ag.sum(ag.grad(f)(x) * np.cos(np.arange(6.0)).reshape(2, 3))

    found = ag.grad(along)(DATA + 0.1)
    expected = np.empty_like(DATA)
    for i in np.ndindex(*DATA.shape):
        step = np.zeros_like(DATA)
        step[i] = 1e-5
        expected[i] = (along(DATA + 0.1 + step) - along(DATA + 0.1 - step)) / 2e-5
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_VW2_set_saved_mutation_error_refuses_what_overwrites_a_saved_value(write, refuse_overwriting):
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ag.grad(written(write))(DATA + 0.1)  # the first sine has saved what is written


def gradient_or_refusal(f):
    try:
        return ag.grad(f)(DATA + 0.1)
    except RuntimeError as error:
        return error


def test_VW2_set_saved_mutation_error_gives_no_other_gradient(write, refuse_overwriting):
    def f(x):
        t = x * 1.0
        write(t)
        return ag.sum(t * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))

    found = gradient_or_refusal(f)
    previous = ag.set_saved_mutation("copy")
    expected = ag.grad(f)(DATA + 0.1)
    ag.set_saved_mutation(previous)
    if isinstance(found, RuntimeError):
        assert "modified by an inplace operation" in str(found)
    else:
        np.testing.assert_array_equal(found, expected)


def test_VW2_the_base_gets_a_new_history_and_the_view_too():
    b = leaf([1.0, 2.0]) * 1
    v = b[:1]
    v *= 2.0
    assert b.grad_fn.name() == "ViewWriteBackward"
    assert "MulBackward" in [node.name() for node, _ in b.grad_fn.next_functions]
    assert v.grad_fn.next_functions == ((b.grad_fn, 0),)


def test_VW2_a_gradient_in_another_layout_reaches_the_region():
    x = leaf(DATA)
    t = x * 1.0
    v = ag.reshape(t, (6,))
    v *= 2.0
    (ag.permute_dims(t, (1, 0)) * ag.asarray(np.ones((3, 2)))).sum().backward()
    same(x.grad, np.full((2, 3), 2.0))


def test_VW2_a_write_without_a_derivative_cuts_the_region_off():
    x = leaf([5.0, 7.0])
    b = x * 1.0
    v = b[:1]
    np.floor(v * 0.5, out=v)
    same(b, [2.0, 7.0])
    b.sum().backward()
    same(x.grad, [0.0, 1.0])


def test_VW2_a_view_of_such_a_tensor_follows():
    x = leaf([5.0, 7.0])
    b = x * 1.0
    v = b[:1]
    np.floor(b, out=b)
    (v * 3.0 + x[1]).backward()
    same(x.grad, [0.0, 1.0])


# VW1


def test_VW1_a_views_history_is_derived_anew_when_its_memory_was_written():
    x = leaf([1.0, 2.0])
    b = x * 1
    v = b[:1]
    before = v.grad_fn
    b *= 10.0
    assert v.grad_fn is not before
    assert v.grad_fn is v.grad_fn
    v.sum().backward()
    same(x.grad, [10.0, 0.0])


def test_VW1_it_is_left_alone_while_nothing_was_written():
    b = leaf([1.0, 2.0]) * 1
    v = b[:1]
    before = v.grad_fn
    b * 2.0
    assert v.grad_fn is before


def test_VW1_a_view_knows_its_base_through_other_views():
    x = leaf(DATA)
    b = x * 1.0
    w = b[1:][:, :2].T
    b *= 3.0
    w.sum().backward()
    same(x.grad, [[0.0, 0.0, 0.0], [3.0, 3.0, 0.0]])


# VW3


def test_VW3_existing_views_see_a_write_to_their_base():
    x = leaf([1.0, 2.0])
    b = x * 1
    v, w = b[:1], b[1:]
    b *= b
    (v + 10.0 * w).sum().backward()
    same(x.grad, [2.0, 40.0])


def test_VW3_and_a_write_to_another_view():
    x = leaf([1.0, 2.0])
    b = x * 1
    v, w = b[:], b[1:]
    w *= 5.0
    v.sum().backward()
    same(x.grad, [1.0, 5.0])


def test_VW3_a_view_of_a_constant_that_moves_into_the_graph():
    b = ag.tensor([1.0, 2.0])
    v = b[1:]
    y = leaf([3.0])
    b[1:] = y * 2.0
    assert v.requires_grad
    v.sum().backward()
    same(y.grad, [2.0])


def test_VW3_detaching_the_base_does_not_detach_views():
    x = leaf([1.0, 2.0])
    b = x * 1
    v = b[:1]
    b.detach_()
    assert not b.requires_grad
    v.sum().backward()
    same(x.grad, [1.0, 0.0])


# VW4


def multiple():
    b = leaf([[1.0], [2.0]]) * 1
    return b, ag.unstack(b)[0]


def under_no_grad():
    b = leaf([1.0, 2.0]) * 1
    with ag.no_grad():
        return b, b[:1]


FORBIDDEN = {
    "multiple": (multiple, "function that returns multiple views"),
    "no_grad": (under_no_grad, "A view was created in no_grad mode"),
}


@pytest.fixture(params=FORBIDDEN.values(), ids=FORBIDDEN.keys())
def forbidden(request):
    make, text = request.param
    return (*make(), text)


def test_VW4_such_views_cannot_be_written(forbidden):
    _, v, text = forbidden
    with pytest.raises(RuntimeError, match=text):
        v *= 2.0
    with pytest.raises(RuntimeError, match=text):
        v[...] = 2.0
    assert v.version == 0


def test_VW4_nor_views_of_them(forbidden):
    _, v, text = forbidden
    with pytest.raises(RuntimeError, match=text):
        v[...] *= 2.0


def test_VW4_nor_used_after_their_base_was_written(forbidden):
    b, v, text = forbidden
    b *= 2.0
    with pytest.raises(RuntimeError, match=text):
        v * 1.0
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        v.grad_fn  # noqa: B018


def test_VW4_under_no_grad_their_values_are_good(forbidden):
    b, v, _ = forbidden
    with ag.no_grad():
        b *= 2.0
        v *= 2.0
        same(ag.sum(v), 4.0)


def test_VW4_a_no_grad_view_may_be_written_under_no_grad():
    b, v = under_no_grad()
    with ag.no_grad():
        v *= 3.0
    same(b, [3.0, 2.0])


# VW5


def test_VW5_views_cannot_be_detached_in_place():
    b = leaf([1.0, 2.0]) * 1
    with pytest.raises(RuntimeError, match=r"Can't detach views in-place. Use detach\(\) instead"):
        b[:1].detach_()


# VW6


def strict(data):
    xp = pytest.importorskip("array_api_strict")
    return ag.asarray(xp.asarray(data), requires_grad=True)


def test_VW6_views_are_tracked_where_slices_share_memory():
    x = strict([1.0, 2.0])
    b = x * 1.0
    v = b[:1]
    v *= 3.0
    np.testing.assert_array_equal(b.numpy(), [3.0, 2.0])
    ag.sum(b).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 1.0])


@pytest.fixture
def immutable():
    """Makes leaves over arrays that are never written and whose slices are no views, as JAX's are."""
    xp = pytest.importorskip("array_api_strict")
    array_type = type(xp.asarray([1.0]))
    usual = backend_of(xp.asarray([1.0]))

    class Immutable(type(usual)):
        def write(self, raw, key, value):
            raw = self.clone(raw, raw)
            raw[key] = value
            return raw

    backend = Immutable("immutable", xp, array_type, False)
    set_backend_namespaces(backend, usual.rule_xp, usual.graph_xp, usual.namespace)
    register_backend(array_type, backend)
    yield lambda data: ag.asarray(xp.asarray(data), requires_grad=True)
    register_backend(array_type, usual)


def test_VW6_in_place_operator_of_immutable_arrays_gives_a_new_tensor(immutable):
    x = immutable([1.0, 2.0])
    b = x * 2.0
    before, old = b, b.array
    b *= 3.0
    assert b is not before
    np.testing.assert_array_equal(b.numpy(), [6.0, 12.0])
    np.testing.assert_array_equal(before.numpy(), [2.0, 4.0])
    np.testing.assert_array_equal(np.asarray(old), [2.0, 4.0])
    assert (before.version, b.version) == (0, 0)
    ag.sum(b).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 6.0])


def test_VW6_items_are_written_by_functional_update(immutable):
    x = immutable([1.0, 2.0])
    b = x * 2.0
    old = b.array
    b[0] = x[1] * 5.0
    np.testing.assert_array_equal(np.asarray(old), [2.0, 4.0])
    np.testing.assert_array_equal(b.numpy(), [10.0, 4.0])
    b[1] += b[0]
    ag.sum(b).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 12.0])


def test_VW6_what_nodes_saved_needs_no_copy_there(immutable):
    x = immutable([1.0, 2.0])
    b = x * 2.0
    y = b * b
    b *= 100.0
    ag.sum(y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [8.0, 16.0])


def test_VW6_slices_are_no_views_there(immutable):
    x = immutable([1.0, 2.0])
    b = x * 1.0
    v = b[:1]
    v += 1.0
    np.testing.assert_array_equal(b.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(v.numpy(), [2.0])
    (ag.sum(b) + ag.sum(v)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 1.0])


# SV7, SV8


def test_SV7_an_input_detached_in_place_later_is_differentiated_as_it_was_recorded():
    x = leaf([2.0])
    b = x * 1
    y = b**3.0
    b.detach_()
    (g,) = ag.autograd.grad(y.sum(), x, create_graph=True)
    same(g, [12.0])
    (h,) = ag.autograd.grad(g.sum(), x)
    same(h, [12.0])


def test_SV7_a_saved_result_too():
    x = leaf([0.0])
    y = ag.exp(x)
    z = y * 1.0
    y.detach_()
    z.backward()
    same(x.grad, [1.0])


def test_SV8_a_view_written_by_an_operation_that_saves_its_result_does_not_leak():
    x = leaf([1.0, 2.0])
    b = x * 1
    v = b[:1]
    np.exp(v, out=v)
    (node,) = [node for name, node in nodes_of(b).items() if name == "ExpBackward"]
    alive = weakref.ref(node)
    del node
    b.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [np.exp(1.0), 1.0])
    gc.disable()
    try:
        del b, v
        assert alive() is None
    finally:
        gc.enable()


def test_VC5_mark_dirty_bumps_the_version_of_all_that_share_the_memory():
    class Touch(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    b = leaf([1.0, 2.0]) * 1
    d = b.detach()
    Touch.apply(b)
    assert b.version == d.version == 1


class Joined(ag.autograd.Function):
    """The sum of three tensors."""

    @staticmethod
    def forward(ctx, a, b, c):
        return a + b + c

    @staticmethod
    def backward(ctx, g):
        return g, g, g


@pytest.mark.parametrize(
    "joined",
    [
        lambda *ts: ag.stack(ts),
        lambda *ts: ag.concat(ts),
        lambda *ts: np.stack(ts),
        lambda *ts: np.concatenate(ts),
        lambda *ts: np.vstack(ts),
        lambda *ts: ag.einsum("i,i,i->i", *ts),
        lambda *ts: ag.stack(ag.broadcast_arrays(*ts)),
        lambda *ts: ag.checkpoint(lambda a, b, c: a + b * c)(*ts),
        lambda *ts: Joined.apply(*ts),
    ],
    ids=["stack", "concat", "np.stack", "np.concatenate", "np.vstack", "einsum", "broadcast", "checkpoint", "Function"],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_every_view_in_a_list_has_the_history_of_a_write_through_another(joined, order):
    def program(x):
        base = ag.asarray([1.0, 2.0, 3.0]) * 1.0
        whole, other, third = base[...], base[...], base[...]
        third *= x
        views = base, whole, other
        return joined(*[views[i] for i in order]).sum()

    x = ag.tensor(1.5, requires_grad=True)
    program(x).backward()
    step = 1e-6
    difference = (program(ag.asarray(1.5 + step)).item() - program(ag.asarray(1.5 - step)).item()) / (2 * step)
    assert x.grad.item() == pytest.approx(difference, rel=1e-8)
