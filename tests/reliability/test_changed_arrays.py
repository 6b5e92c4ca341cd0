"""Raw arrays that the program changes between forward and backward: an error or the right gradient, never another."""

import threading

import numpy as np
import pytest

import arraygrad as ag

MODIFIED = "has been modified by an inplace operation"


@pytest.fixture(autouse=True)
def _default_check():
    yield
    ag.set_constant_check("sample")


def leaf(n=3, dtype=np.float64):
    return ag.tensor(np.linspace(0.5, 1.5, n).astype(dtype), requires_grad=True)


WRITES = {
    "refilled": lambda a: a.fill(0),
    "negated": lambda a: np.negative(a, out=a),
    "doubled": lambda a: np.multiply(a, 2, out=a),
    "shifted by one place": lambda a: a.__setitem__(slice(None), np.roll(a, 1)),
    "reversed": lambda a: a.__setitem__(slice(None), a[::-1].copy()),
    "first element": lambda a: a.__setitem__(0, 7),
    "last element": lambda a: a.__setitem__(-1, 7),
}


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 33, 1000, 100_003])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_constant_that_was_written_is_refused(write, n):
    x, a = leaf(n), np.arange(1.0, n + 1)
    before = a.copy()
    y = (x * a).sum()
    write(a)
    if np.array_equal(a, before):
        pytest.skip("this write changes nothing in an array of one element")
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "u8", "f2", "f4", "f8", "g", "c8", "c16"])
def test_constants_of_every_dtype_are_compared(dtype):
    x, a = ag.tensor(np.ones(50, dtype="c16"), requires_grad=True), np.ones(50, dtype=dtype)
    y = (x * a).sum().real
    a[:] = 0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


@pytest.mark.parametrize("n", [3, 64, 5000])
def test_a_constant_that_was_not_written_gives_its_gradient(n):
    x, a = leaf(n), np.arange(1.0, n + 1)
    (x * a).sum().backward()
    np.testing.assert_array_equal(x.grad.array, a)


def test_a_constant_written_and_restored_gives_its_gradient():
    x, a = leaf(), np.arange(1.0, 4.0)
    y = (x * a).sum()
    a += 1
    a -= 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


VIEWS = {
    "transposed": lambda b: b.T,
    "reversed": lambda b: b[::-1, ::-1],
    "every second": lambda b: b[::2, ::2],
    "column": lambda b: b[:, 1:2],
    "broadcast": lambda b: np.broadcast_to(b[:1], b.shape),
    "read-only": lambda b: np.frombuffer(b.data, dtype=b.dtype).reshape(b.shape),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_constant_view_of_a_buffer_that_was_written_is_refused(view):
    buffer = np.arange(1.0, 401.0).reshape(20, 20)
    a = view(buffer)
    x = ag.tensor(np.ones(a.shape), requires_grad=True)
    y = (x * a).sum()
    buffer *= 3
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_constant_view_that_was_not_written_gives_its_gradient(view):
    a = view(np.arange(1.0, 401.0).reshape(20, 20))
    x = ag.tensor(np.ones(a.shape), requires_grad=True)
    (x * a).sum().backward()
    np.testing.assert_array_equal(x.grad.array, a)


def test_a_constant_that_was_given_another_shape_is_refused():
    x, a = ag.tensor(np.ones((2, 2)), requires_grad=True), np.arange(4.0).reshape(2, 2)
    y = (x * a).sum()
    a.resize((4, 1), refcheck=False)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


OPERATIONS = {
    "times": lambda x, a: x * a,
    "times, array first": lambda x, a: a * x,
    "divided": lambda x, a: x / a,
    "matmul": lambda x, a: x @ a,
    "matmul, array first": lambda x, a: a @ x,
    "power": lambda x, a: x**a,
    "where": lambda x, a: ag.where(a > 2, x, 0.0) * a,
    "einsum": lambda x, a: ag.einsum("i,i->i", x, a),
    "in place": lambda x, a: (x * 1.0).__imul__(a),
    "np.multiply": np.multiply,
    "np.dot": np.dot,
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_that_keeps_a_constant_compares_it(operation):
    x, a = leaf(), np.arange(1.0, 4.0)
    y = operation(x, a).sum()
    a *= 5
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_an_operation_that_needs_no_value_of_the_constant_does_not_mind():
    x, a = leaf(), np.arange(1.0, 4.0)
    y = (x + a).sum()
    a[:] = np.nan
    y.backward()
    np.testing.assert_array_equal(x.grad.array, np.ones(3))


def test_the_error_names_the_operation_the_array_and_the_way_out():
    x, a = leaf(), np.arange(1.0, 4.0)
    y = (x * a).sum()
    a += 1
    with pytest.raises(RuntimeError, match=r"MulBackward.*float64 \(3,\).*multiply.*copy\(\).*set_constant_check"):
        y.backward()


def test_a_second_backward_sees_what_was_written_after_the_first():
    x, a = leaf(), np.arange(1.0, 4.0)
    y = (x * a).sum()
    y.backward(retain_graph=True)
    a += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


def test_double_backward_compares_too():
    x, a = leaf(), np.arange(1.0, 4.0)
    y = ((x * a) ** 3).sum()
    (g,) = ag.autograd.grad(y, [x], create_graph=True)
    a += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        g.sum().backward()


def test_in_mode_copy_the_gradient_is_that_of_the_program_as_it_ran():
    assert ag.set_constant_check("copy") == "sample"
    x, a = leaf(1000), np.arange(1000.0)
    y = (x * a).sum()
    a[:] = 0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, np.arange(1000.0))


def test_in_mode_full_every_single_element_counts():
    ag.set_constant_check("full")
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 10_000, 20):
        x, a = leaf(10_000), np.ones(10_000)
        y = (x * a).sum()
        a[place] = np.nextafter(1.0, 2.0)
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.backward()


def test_in_mode_off_nothing_is_compared():
    ag.set_constant_check("off")
    x, a = leaf(), np.arange(1.0, 4.0)
    y = (x * a).sum()
    a[:] = 5
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [5.0, 5.0, 5.0])


def test_the_mode_of_the_recording_counts_and_not_that_of_backward():
    x, a = leaf(1000), np.ones(1000)
    ag.set_constant_check("full")
    y = (x * a).sum()
    ag.set_constant_check("off")
    y.backward()
    np.testing.assert_array_equal(x.grad.array, a)


def test_an_unknown_mode_is_refused_and_nothing_changed():
    with pytest.raises(ValueError, match=r"'sample', 'full', 'copy' or 'off'.*'maybe'"):
        ag.set_constant_check("maybe")
    assert ag.set_constant_check("sample") == "sample"


def test_a_pack_hook_that_keeps_a_constant_keeps_its_content():
    x, a = leaf(), np.arange(1.0, 4.0)
    with ag.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * a).sum()
    a[:] = 0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


def test_a_write_through_a_tensor_over_the_same_memory_is_seen():
    x, t = leaf(), ag.tensor([1.0, 2.0, 3.0])
    y = (x * t.array).sum()
    t += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_increment_version_tells_of_a_write_into_a_tensors_array():
    x, t = leaf(), ag.tensor([1.0, 2.0, 3.0])
    y = (x * t).sum()
    t.array[...] = 0
    ag.autograd.graph.increment_version(t)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_an_array_that_asarray_wrapped_is_compared():
    x, a = leaf(), np.arange(1.0, 4.0)
    for wrapped in (ag.asarray(a), ag.asarray(a).detach(), ag.asarray(a)[::-1], ag.asarray(a, requires_grad=True)):
        y = (x * wrapped).sum()
        a += 1
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.backward()


@pytest.mark.parametrize("wrap", [np.asarray, np.asfortranarray, lambda a: a[::-1], lambda a: a.T, lambda a: a[:, ::2]])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "c16"])
def test_a_wrapped_array_that_is_written_through_its_tensor_keeps_the_gradient(wrap, dtype):
    a = wrap(np.arange(48.0).reshape(6, 8).astype(dtype))
    x, t = ag.tensor(np.ones(a.shape, dtype=a.dtype.newbyteorder("=")), requires_grad=True), ag.asarray(a)
    before = a.copy()
    y = (x * t).sum().real
    t += 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, before.conj())


def test_an_index_array_may_be_written_after_it_was_used():
    x, key = leaf(), np.array([0, 2])
    y = x[key].sum()
    key[:] = 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 0.0, 1.0])


def test_an_array_refilled_by_another_thread_is_seen():
    x, a = leaf(100), np.ones(100)
    y = (x * a).sum()
    thread = threading.Thread(target=a.fill, args=(2.0,))
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_constant_of_another_library_is_compared():
    strict = pytest.importorskip("array_api_strict")
    x = ag.asarray(strict.asarray([1.0, 2.0]), requires_grad=True)
    a = strict.asarray([3.0, 4.0])
    y = ag.sum(x * a)
    a[0] = 9.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
