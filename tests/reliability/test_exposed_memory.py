"""Memory that a Tensor gives to the program, which writes it: backward refuses what it needs of it, or is right."""

import gc

import numpy as np
import pytest

import arraygrad as ag

MODIFIED = "has been modified by an inplace operation"


pytestmark = pytest.mark.usefixtures("default_modes")


def leaf(n=3):
    return ag.tensor(np.linspace(0.5, 1.5, n), requires_grad=True)


def from_torch(t):
    return pytest.importorskip("torch").from_dlpack(t.detach())


WAYS = {
    "numpy()": lambda t: t.numpy(),
    "array": lambda t: t.array,
    "asarray of detach()": lambda t: np.asarray(t.detach()),
    "array of a view": lambda t: t[:2].array,
    "array of a reversed view": lambda t: t.detach()[::-1].array,
    "memoryview": lambda t: np.asarray(memoryview(t.array)),
    "np.from_dlpack": lambda t: np.from_dlpack(t.detach()),
    "torch.from_dlpack": from_torch,
    "array interface": lambda t: np.asarray(type("A", (), {"__array_interface__": t.array.__array_interface__})()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_saved_value_that_is_written_through_memory_given_away_is_refused(way, when):
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0], requires_grad=True)
    if when == "before":
        memory = way(w)
    y = (x * w).sum()
    if when == "after":
        memory = way(w)
    try:
        memory[0] = 100.0
    except ValueError:  # NumPy makes what it takes by DLPack read-only
        memory.flags.writeable or pytest.skip("read-only")
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert x.grad is None
    assert w.grad is None


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_memory_that_was_given_away_and_not_written_gives_the_gradient(way):
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0], requires_grad=True)
    y = (x * w).sum()
    memory = way(w)
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(w.grad.array, [0.5, 1.0, 1.5])
    del memory


RESULTS = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "softmax": lambda x: ag.special.softmax(x) if hasattr(ag.special, "softmax") else np.exp(x) / np.exp(x).sum(),
    "power": lambda x: x**3,
    "solve": lambda x: np.linalg.solve(np.eye(3) * 2 + np.outer(x, x), x),
    "in a list": lambda x: np.concatenate([x * x, x])[:3] ** 2,
}


@pytest.mark.parametrize("f", RESULTS.values(), ids=RESULTS)
def test_a_result_that_was_looked_at_gives_the_gradient_of_one_that_was_not(f):
    x, z = leaf(), leaf()
    y = f(x)
    y.numpy()
    x.numpy()
    y.sum().backward()
    f(z).sum().backward()
    np.testing.assert_array_equal(x.grad.array, z.grad.array)


def test_a_saved_result_that_is_written_is_refused():
    x = leaf()
    y = np.exp(x)
    z = y.sum()
    y.numpy()[1] = 0.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.backward()


def test_the_error_says_how_the_memory_got_out():
    x = leaf()
    y = np.exp(x)
    y.array[:] = 0
    with pytest.raises(RuntimeError, match=r"saved by ExpBackward.*taken out of a Tensor.*set_constant_check"):
        y.sum().backward()


def test_double_backward_compares_too():
    x = leaf()
    y = np.exp(x)
    memory = y.numpy()
    (g,) = ag.autograd.grad(y.sum(), [x], create_graph=True)
    memory[:] = 1.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        g.sum().backward()


def test_a_write_through_the_tensor_keeps_what_was_saved():
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    y = (x * w).sum()
    w.numpy()
    w += 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 3.0, 4.0])


def test_a_write_through_the_memory_and_then_one_through_the_tensor_is_refused():
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    y = (x * w).sum()
    w.numpy()[:] = 7.0
    w += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_an_update_step_through_the_memory_after_backward_is_everyday_code():
    x, w = leaf(), leaf()
    for _ in range(3):
        w.grad = None
        y = ((x * w) ** 2).sum()
        y.backward()
        w.array[...] -= 0.1 * w.grad.array
    reference = np.linspace(0.5, 1.5, 3)
    for _ in range(3):
        reference -= 0.2 * reference * np.linspace(0.5, 1.5, 3) ** 2
    np.testing.assert_allclose(w.array, reference, rtol=1e-14)


def test_values_saved_after_a_write_are_those_after_it():
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    w.numpy()[:] = 5.0
    (x * w).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [5.0, 5.0, 5.0])


def test_in_mode_copy_the_gradient_is_that_of_the_program_as_it_ran():
    ag.set_constant_check("copy")
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    y = (x * w).sum()
    w.numpy()[:] = 5.0
    z = (x * w).sum()
    w.numpy()[:] = 6.0
    (y + z).backward()
    np.testing.assert_array_equal(x.grad.array, [7.0, 8.0, 9.0])


def test_in_mode_off_nothing_is_compared():
    ag.set_constant_check("off")
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    y = (x * w).sum()
    w.numpy()[:] = 5.0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [5.0, 5.0, 5.0])


def test_in_mode_full_every_element_of_a_large_value_counts():
    ag.set_constant_check("full")
    x = leaf(100_000)
    y = np.exp(x)
    y.numpy()[54_321] += 1e-9
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_values_of_a_view_and_of_its_base_are_both_protected():
    x, w = leaf(6), ag.tensor(np.arange(6.0))
    y, z = (x * w).sum(), (x[:3] * w[:3]).sum()
    w[1:2].array[0] = 50.0
    for loss in (y, z):
        with pytest.raises(RuntimeError, match=MODIFIED):
            loss.backward()


def test_a_value_beside_the_memory_that_was_given_away_is_not_concerned():
    x, w = leaf(), ag.tensor(np.arange(6.0))
    y = (x * w[:3]).sum()
    w[3:].array[:] = -1.0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [0.0, 1.0, 2.0])


LOOKS = {
    "repr": repr,
    "str": str,
    "format": lambda t: f"{t}",
    "tolist": lambda t: t.tolist(),
    "shape": lambda t: t.shape,
    "item": lambda t: t.sum().item(),
    "comparison": lambda t: t > 1,
    "device": lambda t: t.device,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_at_values_gives_no_memory_away(look):
    """Seen from outside: nobody compares, so a write into memory taken by other means passes."""
    x, w = leaf(), ag.tensor([2.0, 3.0, 4.0])
    alias = w.detach()
    ag.set_constant_check("off")
    memory = alias.array  # foreign from here on, so this Tensor can't serve
    ag.set_constant_check("sample")
    del memory, alias
    v = ag.tensor([2.0, 3.0, 4.0])
    y = (x * v).sum()
    look(v)
    node = y.grad_fn.next_functions[0][0]
    assert node.saved["x2"] is v  # a value that was put aside would be shown by another Tensor
    y.backward()


def test_a_hook_that_is_shown_a_saved_value_may_look_at_it():
    x = leaf()
    y = np.exp(x)
    seen = []
    y.register_hook(lambda g: seen.append(g.numpy().copy()))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.array, np.exp(np.linspace(0.5, 1.5, 3)))
    np.testing.assert_array_equal(seen[0], np.ones(3))


def test_nothing_stays_alive_because_its_memory_was_given_away():
    x = leaf()
    y = np.exp(x)
    memory = y.numpy()
    z = y.sum()
    del y, z
    gc.collect()
    assert memory.base is None
    np.testing.assert_array_equal(memory, np.exp(np.linspace(0.5, 1.5, 3)))


@pytest.mark.parametrize("when", ["before", "after"])
def test_memory_of_a_torch_tensor_that_numpy_wrote_is_compared(when):
    torch = pytest.importorskip("torch")
    x = ag.asarray(torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64), requires_grad=True)
    w = ag.tensor(torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64))
    memory = w.numpy() if when == "before" else None
    y = ag.sum(x * w)
    memory = w.numpy() if memory is None else memory
    memory[0] = 9.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_torch_tensor_that_was_written_through_a_tensor_keeps_what_was_saved():
    torch = pytest.importorskip("torch")
    x = ag.asarray(torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64), requires_grad=True)
    raw = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    raw += 1
    a, b = ag.asarray(raw), ag.asarray(raw)
    y = ag.sum(x * b)
    a += 1
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0, 4.0])


def _pulled(v):
    ag.vjp(lambda p: 2.0 * p, ag.tensor([1.0, 1.0, 1.0]))[1](v)


GIVEN_TO_TRANSFORMS = {
    "a tangent": lambda v: ag.jvp(lambda p: 2.0 * p, (ag.tensor([1.0, 1.0, 1.0]),), (v,)),
    "a cotangent": _pulled,
    "a vector": lambda v: ag.hvp(lambda p: (p**3).sum())(ag.tensor([1.0, 1.0, 1.0]), v),
}


@pytest.mark.parametrize("use", GIVEN_TO_TRANSFORMS.values(), ids=GIVEN_TO_TRANSFORMS)
def test_a_vector_that_a_transform_is_given_is_looked_at_only(use):
    x, v = leaf(), ag.tensor([2.0, 3.0, 4.0])
    y = (x * v).sum()
    use(v)
    node = y.grad_fn.next_functions[0][0]
    assert node.saved["x2"] is v  # a value that was put aside would be shown by another Tensor
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 3.0, 4.0])
