"""Accumulation into leaves (AG): what is stolen, copied, added in place, laid out; whose memory is never touched."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, python_function, same

import arraygrad as ag
from arraygrad.autograd import backward, graph

# backward(create_graph=True) warns once in a process (EX4); which test comes first does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")

MEGABYTE = 2**20


def address(t):
    return t.array.__array_interface__["data"][0]


def accumulator(t):
    return graph.get_gradient_edge(t).node


def test_AG1_the_graph_owns_the_accumulator_and_the_leaf_knows_it_weakly():
    x = leaf([1.0])
    y = x * 2.0
    node = weakref.ref(accumulator(x))
    assert node() is accumulator(x)
    del y
    assert node() is None
    assert accumulator(x) is not None


def test_AG1_the_graph_keeps_the_leaf_alive():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    alive = weakref.ref(x)
    del x
    assert alive() is not None
    y.sum().backward()
    same(alive().grad, [2.0, 2.0])
    del y
    assert alive() is None


def test_AG1_all_uses_of_a_leaf_share_one_accumulator():
    x = leaf([1.0])
    first, second = x * 2.0, x * 3.0
    assert first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0] is accumulator(x)


def test_AG2_an_accumulator_runs_as_soon_as_it_is_ready():
    order = []
    x, w = leaf([1.0]), leaf([1.0])
    early = ag.sin(x)
    late = ag.sin(w)
    w.register_hook(lambda g: order.append("leaf of the late branch"))
    early.register_hook(lambda g: order.append("early branch"))
    (early * late).sum().backward()
    assert order == ["leaf of the late branch", "early branch"]


def test_AG3_an_undefined_gradient_leaves_grad_alone():
    x = leaf([1.0])
    backward([python_function(lambda g: None, x)], [ag.tensor([1.0])])
    assert x.grad is None
    x.grad = ag.tensor([5.0])
    backward([python_function(lambda g: None, x)], [ag.tensor([1.0])])
    same(x.grad, [5.0])


def test_AG4_a_leaf_that_was_moved_into_the_graph_is_an_error():
    x, y = leaf([1.0]), leaf([1.0])
    b = x * 2.0
    x.requires_grad_(False)
    x *= y
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        b.backward()


def test_AG4_a_leaf_that_stopped_requiring_grad_gets_nothing():
    x = leaf([1.0])
    b = x * 2.0
    x.requires_grad_(False)
    b.backward()
    assert x.grad is None


def test_AG5_a_fresh_gradient_is_stolen_and_not_copied():
    # One multiplication makes one array. If it were copied for .grad the peak would be two.
    x = ag.tensor(np.ones(MEGABYTE), requires_grad=True)
    c, g = ag.tensor(np.full(MEGABYTE, 2.0)), ag.tensor(np.ones(MEGABYTE))
    y = x * c
    tracemalloc.start()
    try:
        y.backward(g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    same(x.grad, np.full(MEGABYTE, 2.0))
    assert 8 * MEGABYTE <= peak < 12 * MEGABYTE


def test_AG5_a_gradient_that_arrives_twice_is_not_shared_by_two_leaves():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x + w).sum().backward()
    assert not np.shares_memory(x.grad.array, w.grad.array)
    x.grad += 1.0
    same(w.grad, [1.0, 1.0])


def test_AG6_the_gradient_passed_to_backward_is_not_aliased():
    g = ag.tensor([1.0, 10.0])
    for make in (lambda x: x, lambda x: x + 1.0, lambda x: x.reshape((2,)), lambda x: x.reshape((1, 2)).reshape((2,))):
        x = leaf([1.0, 2.0])
        make(x).backward(g)
        assert not np.shares_memory(x.grad.array, g.array)
        same(x.grad, [1.0, 10.0])
    same(g, [1.0, 10.0])


def test_AG6_what_a_hook_returned_is_not_aliased():
    kept = []

    def hook(g):
        kept.append(g * 2.0)
        return kept[-1]

    x = leaf([1.0, 2.0])
    x.register_hook(hook)
    (x * 3.0).sum().backward()
    assert not np.shares_memory(x.grad.array, kept[0].array)
    x.grad += 1.0
    same(kept[0], [6.0, 6.0])


def test_AG6_what_a_hook_was_shown_is_not_aliased():
    shown = []
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: shown.append(g))
    (x * 3.0).sum().backward()
    (x * 3.0).sum().backward()
    same(shown[0], [3.0, 3.0])
    same(x.grad, [6.0, 6.0])


def test_AG6_what_an_intermediate_hook_was_shown_is_not_changed():
    shown = []
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.register_hook(lambda g: shown.append(g))
    (y + 0.0).backward(ag.tensor([1.0, 2.0]))
    (x * 3.0).sum().backward()
    same(shown[0], [1.0, 2.0])


def test_AG6_what_a_python_function_keeps_is_not_aliased():
    kept = []

    def fn(g):
        kept.append(g * 2.0)
        return kept[-1]

    x = leaf([1.0, 2.0])
    backward([python_function(fn, x)], [ag.tensor([1.0, 1.0])])
    backward([python_function(fn, x)], [ag.tensor([1.0, 1.0])])
    assert not any(np.shares_memory(x.grad.array, k) for k in kept)
    same(kept[0], [2.0, 2.0])
    same(x.grad, [4.0, 4.0])


def test_AG6_a_view_of_what_a_python_function_keeps_is_not_aliased():
    base = np.array([1.0, 2.0, 3.0])
    x = leaf([1.0, 2.0])
    backward([python_function(lambda g: base[:2], x)], [ag.tensor([1.0, 1.0])])
    (x * 1.0).sum().backward()
    same(base, [1.0, 2.0, 3.0])
    same(x.grad, [2.0, 3.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda a: np.asfortranarray(a),
        lambda a: a.T,
        lambda a: np.ascontiguousarray(a),
        lambda a: a.transpose(1, 2, 0),
    ],
    ids=["column-major", "transposed", "row-major", "permuted"],
)
def test_AG7_a_dense_leaf_gets_a_gradient_with_its_strides(make):
    a = make(np.arange(24.0).reshape(2, 3, 4))
    x = ag.asarray(a, requires_grad=True)
    assert x.array is a
    (x * 2.0).sum().backward()
    assert x.grad.array.strides == a.strides


def test_AG7_the_layout_holds_when_the_gradient_comes_in_another_one():
    a = np.asfortranarray(np.ones((3, 4)))
    x = ag.asarray(a, requires_grad=True)
    g = ag.tensor(np.arange(12.0).reshape(3, 4))
    (x + 0.0).backward(g)
    assert x.grad.array.strides == a.strides
    same(x.grad, g.array)


def test_AG7_a_leaf_that_is_not_dense_gets_a_row_major_gradient():
    x = ag.asarray(np.ones((4, 6))[::2, ::3], requires_grad=True)
    (x * 2.0).sum().backward()
    assert x.grad.array.flags["C_CONTIGUOUS"]
    same(x.grad, np.full((2, 2), 2.0))


def test_AG7_a_broadcast_leaf_gets_a_gradient_of_its_own_memory():
    x = ag.asarray(np.broadcast_to(np.array([1.0]), (3,)), requires_grad=True)
    (x * ag.tensor([1.0, 2.0, 3.0])).sum().backward()
    same(x.grad, [1.0, 2.0, 3.0])
    assert 0 not in x.grad.array.strides


def test_AG8_a_second_gradient_is_added_in_place():
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    first, where, version = x.grad, address(x.grad), x.grad.version
    (x * 3.0).sum().backward()
    assert x.grad is first
    assert address(x.grad) == where
    assert x.grad.version == version + 1
    same(x.grad, [5.0, 5.0])


def test_AG8_a_scalar_leaf_accumulates_into_the_same_object():
    x = leaf(2.0)
    (x * 2.0).backward()
    first = x.grad
    (x * 3.0).backward()
    assert x.grad is first
    same(x.grad, 5.0)


def test_AG8_a_broadcast_gradient_is_cloned():
    x = leaf([1.0, 2.0])
    x.sum().backward()
    assert 0 not in x.grad.array.strides
    x.grad[0] = 5.0
    same(x.grad, [5.0, 1.0])


def test_AG8_a_gradient_assigned_by_the_user_is_added_to():
    x = leaf([1.0, 2.0])
    mine = ag.tensor([10.0, 20.0])
    x.grad = mine
    (x * 2.0).sum().backward()
    assert x.grad is mine
    same(mine, [12.0, 22.0])


def test_AG8_a_gradient_that_a_graph_has_saved_is_kept_for_it():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    (x * 2.0).sum().backward()
    y = w * x.grad
    (x * 3.0).sum().backward()  # adds into x.grad, which y's node has saved
    y.sum().backward()
    same(w.grad, [2.0, 2.0])
    same(x.grad, [5.0, 5.0])


def test_AG8_broadcast_gradients_can_meet():
    x = leaf([1.0, 2.0, 3.0])
    y = x + 0.0
    (y.sum() + y.sum() * 2.0 + y.sum()).backward()
    same(x.grad, [4.0, 4.0, 4.0])


def test_AG8_a_read_only_broadcast_gradient_is_accepted():
    g = np.broadcast_to(np.array([2.0]), (3,))
    x = leaf([1.0, 2.0, 3.0])
    for _ in range(2):
        x.backward(g)
        (x + x).backward(g)
    same(x.grad, [12.0, 12.0, 12.0])
    same(g, [2.0, 2.0, 2.0])


def test_AG9_with_create_graph_the_sum_is_a_new_object_in_the_graph():
    x = leaf(3.0)
    (x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    (x * x * x).backward(create_graph=True)
    assert x.grad is not first
    same(x.grad, 6.0 + 27.0)
    (h,) = ag.autograd.grad(x.grad, x)
    same(h, 2.0 + 18.0)
    same(first, 6.0)


def test_AG9_a_plain_backward_after_a_recorded_one_adds():
    x = leaf(3.0)
    (x * x).backward(create_graph=True)
    (x * 2.0).backward()
    same(x.grad.detach(), 8.0)


def test_AG11_post_accumulate_hooks_get_the_tensor_after_accumulation():
    seen = []
    x = leaf([1.0, 2.0])
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2.0).sum().backward()
    (x * 2.0).sum().backward()
    assert seen == [(True, [2.0, 2.0]), (True, [4.0, 4.0])]


def test_AG11_post_accumulate_hooks_may_take_the_gradient_away():
    x = leaf([1.0])

    def step(t):
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2.0).backward()
    assert x.grad is None


def test_AG11_post_accumulate_hooks_must_return_none():
    x = leaf([1.0])
    x.register_post_accumulate_grad_hook(lambda t: t)
    with pytest.raises(RuntimeError, match="Tensor post accumulate grad hooks should return None"):
        (x * 2.0).backward()


def test_AG11_post_accumulate_hooks_run_in_order_and_can_be_removed():
    log = []
    x = leaf([1.0])
    first = x.register_post_accumulate_grad_hook(lambda t: log.append(1))
    x.register_post_accumulate_grad_hook(lambda t: log.append(2))
    (x * 2.0).backward()
    first.remove()
    (x * 2.0).backward()
    assert log == [1, 2, 2]


def test_AG11_only_leaves_that_require_grad_take_post_accumulate_hooks():
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf([1.0]) * 2.0).register_post_accumulate_grad_hook(lambda t: None)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        ag.tensor([1.0]).register_post_accumulate_grad_hook(lambda t: None)


def test_AG12_hooks_registered_after_the_forward_are_honoured():
    x = leaf([1.0])
    y = x * 2.0
    x.register_hook(lambda g: g * 10.0)
    y.backward()
    same(x.grad, [20.0])


def test_AG12_hooks_survive_the_accumulator_node():
    x = leaf([1.0])
    x.register_hook(lambda g: g * 10.0)
    y = x * 2.0
    del y
    gc.collect()
    (x * 3.0).backward()
    same(x.grad, [30.0])


def test_AG14_hooks_of_the_accumulator_node_survive_the_graph():
    log = []
    x = leaf([1.0])
    accumulator(x).register_prehook(lambda outputs: log.append("pre"))
    accumulator(x).register_hook(lambda grads, outputs: log.append((grads, len(outputs))))
    gc.collect()
    (x * 2.0).backward()
    assert log == ["pre", ((), 1)]


def test_IB3_fan_in_adds_into_a_buffer_of_its_own():
    # Ten products arrive at one place: two arrays are alive at a time, not ten.
    x = ag.tensor(np.ones(MEGABYTE), requires_grad=True)
    c = ag.tensor(np.full(MEGABYTE, 2.0))
    y = x + 0.0
    parts = [y * c for _ in range(10)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    g = ag.tensor(np.ones(MEGABYTE))
    del parts, p
    tracemalloc.start()
    try:
        total.backward(g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    same(x.grad, np.full(MEGABYTE, 20.0))
    assert peak < 3.5 * 8 * MEGABYTE


def test_IB4_the_users_gradients_are_never_modified():
    x = leaf([1.0, 2.0])
    g = ag.tensor([1.0, 10.0])
    (x + x).backward(g)
    ((x + x) + (x + x)).backward(g)
    ag.autograd.grad([x * 2.0, x * 3.0], x, [g, g])
    same(g, [1.0, 10.0])
    assert g.version == 0
    same(x.grad, [6.0, 60.0])


def test_IB4_the_users_raw_gradients_are_never_modified():
    x = leaf([1.0, 2.0])
    g = np.array([1.0, 10.0])
    y = x + 0.0
    (y + y + y).backward(g)
    (x * 1.0).backward(g)
    same(g, [1.0, 10.0])
    same(x.grad, [4.0, 40.0])


def test_IB5_an_array_seen_by_someone_else_is_not_added_into():
    views = []

    def fn(g):
        made = g * 2.0
        views.append(made.view())  # someone keeps a view, not the array
        return made

    x = leaf([1.0, 2.0])
    y = x + 0.0
    edges = [python_function(fn, y) for _ in range(3)]
    backward(edges, [ag.tensor([1.0, 1.0])] * 3)
    same(x.grad, [6.0, 6.0])
    for v in views:
        same(v, [2.0, 2.0])


def test_float32_stays_float32():
    x = leaf(np.ones(3, dtype=np.float32))
    for _ in range(2):
        (x * 2.0).sum().backward()
    assert x.grad.dtype == np.float32
    same(x.grad, [4.0, 4.0, 4.0])


# What others made


class Both(ag.autograd.Function):
    """A sum whose backward returns one buffer for both terms."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        Both.address = address(g)
        return g, g


def test_AG5_a_buffer_that_a_function_returns_for_two_leaves_is_copied_for_one_of_them():
    a, b = leaf(np.ones((5, 6))), leaf(np.ones((5, 6)))
    (Both.apply(a, b) * 1.0).sum().backward()
    same(a.grad, np.ones((5, 6)))
    same(b.grad, np.ones((5, 6)))
    assert [address(a.grad), address(b.grad)].count(Both.address) == 1
    a.grad.array[...] = 7.0
    same(b.grad, np.ones((5, 6)))


def test_AG5_one_leaf_that_is_both_terms_has_the_sum():
    a = leaf(np.ones((5, 6)))
    (Both.apply(a, a) * 1.0).sum().backward()
    same(a.grad, np.full((5, 6), 2.0))


def with_hook(x, y, hook):
    x.register_hook(hook)


def with_prehook(x, y, hook):
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: (hook(grads[0]),))


def with_hook_before(x, y, hook):
    y.register_hook(hook)


@pytest.mark.parametrize("register", [with_hook, with_prehook])
def test_AG5_what_a_hook_returns_and_does_not_keep_is_stolen(register):
    x, made = leaf(np.ones(50)), []

    def hook(g):
        result = g * 3.0
        made.append(address(result))
        return result

    y = x * 2.0
    register(x, y, hook)
    y.sum().backward()
    same(x.grad, np.full(50, 6.0))
    assert [address(x.grad)] == made


def exported(t):
    return memoryview(t.array)


@pytest.mark.parametrize(
    "keep",
    [lambda t: t, lambda t: t.array, lambda t: t[:2], lambda t: t.detach(), lambda t: t.array[::2], exported],
    ids=["tensor", "array", "view", "detached", "array view", "memoryview"],
)
@pytest.mark.parametrize("register", [with_hook, with_prehook, with_hook_before])
def test_AG6_what_a_hook_returns_and_keeps_is_copied(register, keep):
    x, kept = leaf(np.ones(50)), []

    def hook(g):
        result = g * 3.0
        kept.append(keep(result))
        return result

    y = x + 2.0
    register(x, y, hook)
    y.sum().backward()
    y = x + 2.0
    before = np.array(kept[0].array if isinstance(kept[0], ag.Tensor) else kept[0])
    x.grad.array[...] = -1.0
    same(kept[0].array if isinstance(kept[0], ag.Tensor) else np.asarray(kept[0]), before)


@pytest.mark.parametrize("register", [with_hook, with_prehook, with_hook_before])
def test_AG6_a_gradient_that_a_hook_looks_at_and_keeps_is_copied(register):
    x, kept = leaf(np.ones(50)), []
    y = x + 2.0
    register(x, y, lambda g: kept.append(g) or g)
    (y * 3.0).sum().backward()
    x.grad.array[...] = -1.0
    same(kept[0], np.full(50, 3.0))


def test_AG6_a_post_hook_of_the_accumulator_keeps_what_it_is_shown():
    x, kept = leaf(np.ones(50)), []
    y = x + 2.0
    y.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: kept.append(outputs[0]))
    (y * 3.0).sum().backward()
    x.grad.array[...] = -1.0
    same(kept[0], np.full(50, 3.0))


def read_only(array):
    array = array.view()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(
    "grad",
    [np.ones(2), np.broadcast_to(np.array(1.0), (2,)), np.ones(4)[::-2], np.ones(2).astype(">f8").astype("f8")],
    ids=["array", "broadcast", "strided", "native"],
)
def test_AG8_a_read_only_grad_is_replaced_by_the_sum(grad, atomic):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x.grad = ag.asarray(read_only(grad))
    before = x.grad
    backward((x * x * w).sum(), atomic=atomic)
    same(x.grad, [7.0, 17.0])
    same(w.grad, [1.0, 4.0])
    assert x.grad is before
    same(grad, [1.0, 1.0])
    backward((x * w).sum(), atomic=atomic)
    same(x.grad, [10.0, 21.0])
