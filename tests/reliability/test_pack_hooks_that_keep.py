"""A pack hook may keep the tensor that it is given, a view of it or its array: writes must not change the gradient."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.3, 0.5, 0.7, 0.9])
W = np.array([1.1, 0.8, 0.6, 0.4])

# What a hook keeps of its tensor -> what it makes of that in backward.
KEEPS = {
    "itself": (lambda t: t, lambda kept: kept),
    "in a list": (lambda t: [t], lambda kept: kept[0]),
    "in a dict, computed with": (lambda t: {"t": t}, lambda kept: kept["t"] * 1.0),
    "a slice": (lambda t: t[:], lambda kept: kept),
    "a slice in a list": (lambda t: [t[:]], lambda kept: kept[0]),
    "detached": (lambda t: [t.detach()], lambda kept: kept[0]),
    "reshaped": (lambda t: (ag.reshape(t, (2, 2)),), lambda kept: ag.reshape(kept[0], (4,))),
    "a view of a view": (lambda t: [ag.flip(t[:])], lambda kept: ag.flip(kept[0])),
    "its array": (lambda t: t.numpy(), lambda kept: kept),
    "its array, wrapped again": (lambda t: [t.numpy()], lambda kept: ag.asarray(kept[0])),
    "a part of its array": (lambda t: t.numpy()[:], lambda kept: kept),
    "a copy": (lambda t: [t.copy()], lambda kept: kept[0]),
    "a copy of its array": (lambda t: t.numpy().copy(), lambda kept: kept),
}


def by_tensor(u, w):
    u[:2] = w[2:] * 0.5


def by_a_view(u, w):
    part = u[1:3]
    part *= 2.0


def in_place(u, w):
    u *= w


def by_an_alias(u, w):
    with ag.no_grad():
        u.detach()[:2] = 0.25


def by_the_array(u, w):
    u.detach().array[:2] = 0.25


WRITES = [by_tensor, by_a_view, in_place, by_an_alias, by_the_array]
MADE = {
    "computed": lambda x, w: x * w,
    "a view": lambda x, w: (x * w)[:],
    "joined": lambda x, w: ag.concat([x[:2], w[2:]]),
}


def _named(value):
    return getattr(value, "__name__", value).replace(" ", "_")


def loss(x, w, made, write):
    u = MADE[made](x, w)
    t = ag.sin(u) * w
    write(u, w)
    return ag.sum(ag.tanh(t * ag.exp(u)))


def differences(value):
    """Central differences of `value(x, w)`, a number, in x and in w."""
    found = []
    for which in range(2):
        column = np.zeros(4)
        for k in range(4):
            up, down = [X.copy(), W.copy()], [X.copy(), W.copy()]
            up[which][k] += 1e-6
            down[which][k] -= 1e-6
            column[k] = (value(*map(ag.asarray, up)).item() - value(*map(ag.asarray, down)).item()) / 2e-6
        found.append(column)
    return found


@pytest.mark.parametrize(("keeps", "made", "write"), list(itertools.product(KEEPS, MADE, WRITES)), ids=_named)
def test_the_gradient_is_right_or_refused(keeps, made, write):
    leaves = [ag.asarray(a.copy(), requires_grad=True) for a in (X, W)]
    with ag.autograd.graph.saved_tensors_hooks(*KEEPS[keeps]):
        u = MADE[made](*leaves)
        t = ag.sin(u) * leaves[1]
    write(u, leaves[1])
    total = ag.sum(ag.tanh(t * ag.exp(u)))
    if write is by_an_alias or write is by_the_array:
        # What was written is a constant, and t is what it was before: differences of the whole program.
        total = ag.sum(ag.tanh(t * 1.5))
    if "copy" not in keeps and (
        write is by_the_array or "array" in keeps
    ):  # where a copy can be kept there is no refusal
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            ag.autograd.grad(total, leaves)
        return
    found = ag.autograd.grad(total, leaves)
    if write is by_an_alias or write is by_the_array:
        expected = differences(lambda x, w: ag.sum(ag.tanh(ag.sin(MADE[made](x, w)) * w * 1.5)))
    else:
        expected = differences(lambda x, w: loss(x, w, made, write))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.array, two, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("keeps", ["in a list", "a slice in a list", "detached", "its array"])
def test_a_hook_that_keeps_costs_no_copy_where_nothing_is_written(keeps):
    kept = []
    pack, unpack = KEEPS[keeps]

    def packing(t):
        kept.append((t.detach().array, pack(t)))
        return kept[-1][1]

    x = ag.asarray(X.copy(), requires_grad=True)
    with ag.autograd.graph.saved_tensors_hooks(packing, unpack):
        y = ag.sin(x * 2.0)
    (g,) = ag.autograd.grad(ag.sum(y), (x,))
    np.testing.assert_allclose(g.array, 2 * np.cos(2 * X))
    for array, one in kept:
        shown = unpack(one)
        assert np.shares_memory(array, shown if isinstance(shown, np.ndarray) else shown.array)


def test_a_tensor_that_a_hook_kept_can_be_written_itself():
    kept = []
    x = ag.asarray(X.copy(), requires_grad=True)
    with ag.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t.copy(), lambda t: t):
        u = x * 2.0
        y = ag.sin(u)
    kept[-1][:] = 7.0
    np.testing.assert_array_equal(kept[-1].array, [7.0] * 4)
    np.testing.assert_array_equal(u.detach().array, [7.0] * 4)  # it is the same memory, as views are
    (g,) = ag.autograd.grad(ag.sum(y), (x,))
    np.testing.assert_allclose(g.array, 2 * np.cos(2 * X))


def test_with_errors_for_overwritten_values_a_kept_tensor_is_refused():
    x = ag.asarray(X.copy(), requires_grad=True)
    previous = ag.set_saved_mutation("error")
    try:
        with ag.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda kept: kept[0] * 1.0):
            u = x * 2.0
            y = ag.sin(u)
        u *= 2.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            ag.autograd.grad(ag.sum(y), (x,))
    finally:
        ag.set_saved_mutation(previous)


def test_an_array_that_a_hook_wrote_to_disk_is_freed(tmp_path):
    x = ag.asarray(X.copy(), requires_grad=True)
    refs = []

    def pack(t):
        array = t.numpy()
        refs.append(weakref.ref(array))
        path = tmp_path / f"{len(refs)}.npy"
        np.save(path, array)
        return path

    with ag.autograd.graph.saved_tensors_hooks(pack, np.load):
        y = ag.sin(x * 2.0)
    gc.collect()
    assert all(ref() is None for ref in refs)
    (g,) = ag.autograd.grad(ag.sum(y), (x,))
    np.testing.assert_allclose(g.array, 2 * np.cos(2 * X))
