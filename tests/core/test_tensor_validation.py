"""What nodes may return (VO) and what an error leaves behind (ER), on NumPy arrays."""

import gc
import signal
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, python_function, same

import arraygrad as ag
from arraygrad.autograd import backward
from arraygrad.engine.engine import queued_tasks

# backward(create_graph=True) warns once in a process (EX4); which test comes first does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")


def through(fn, x, shape=None):
    """Backward through a Python function into x, starting from a gradient of ones."""
    backward([python_function(fn, x)], [np.ones(x.shape if shape is None else shape, dtype=x.dtype)])


def test_VO1_a_wrong_number_of_gradients():
    x, w = leaf([1.0]), leaf([1.0])
    with pytest.raises(
        RuntimeError, match=r"function Special returned an incorrect number of gradients \(expected 2, got 1\)"
    ):
        backward([python_function(lambda g: g, x, w)], [np.ones(1)])


def test_VO2_undefined_is_always_accepted():
    x, w = leaf([1.0]), leaf([1.0])
    backward([python_function(lambda g: (None, g), x, w)], [np.ones(1)])
    assert x.grad is None
    same(w.grad, [1.0])


@pytest.mark.parametrize("shape", [(4, 2, 3), (5, 4, 2, 3), (1, 2, 3)])
def test_VO3_leading_dimensions_are_summed(shape):
    x = leaf(np.ones((2, 3)))
    through(lambda g: np.ones(shape), x)
    same(x.grad, np.full((2, 3), np.prod(shape) / 6))


def test_VO3_broadcast_dimensions_are_summed():
    x = leaf(np.ones((1, 3, 1)))
    through(lambda g: np.ones((2, 3, 4)), x)
    same(x.grad, np.full((1, 3, 1), 8.0))


def test_VO3_a_gradient_of_another_shape_is_an_error():
    x = leaf(np.ones((2, 3)))
    with pytest.raises(RuntimeError) as info:
        through(lambda g: np.ones(5), x)
    assert str(info.value) == (
        "Function Special returned an invalid gradient at index 0 - got [5] but expected shape compatible with [2, 3]: "
        "backward gives a gradient of the shape of that argument of forward"
    )
    assert x.grad is None


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 1)])
def test_VO3_a_smaller_gradient_is_an_error(shape):
    x = leaf(np.ones((2, 3)))
    with pytest.raises(RuntimeError, match=r"expected shape compatible with \[2, 3\]"):
        through(lambda g: np.ones(shape), x)


def test_VO3_the_index_of_the_gradient_is_named():
    x, w = leaf([1.0]), leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"Special returned an invalid gradient at index 1 - got \[3\]"):
        backward([python_function(lambda g: (g, np.ones(3)), x, w)], [np.ones(1)])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float16, np.bool_])
def test_VO4_the_dtype_is_cast_silently(dtype):
    x = leaf(np.ones(2, dtype=np.float32))
    through(lambda g: np.ones(2, dtype=dtype), x)
    same(x.grad, [1.0, 1.0], dtype=np.float32)


def test_VO4_a_real_gradient_for_a_complex_input_is_cast():
    x = leaf(np.ones(2, dtype=np.complex64))
    through(lambda g: np.ones(2), x)
    same(x.grad, [1.0, 1.0], dtype=np.complex64)


def test_VO4_a_complex_gradient_for_a_real_input_is_refused_with_a_real_message():
    x = leaf(np.ones(2))
    with pytest.raises(RuntimeError, match=r"Special returned an invalid gradient at index 0 - .*complex128.*real"):
        through(lambda g: g * 1j, x)
    assert x.grad is None


def test_VO4_operations_mix_real_and_complex_inputs():
    x, c = leaf([1.0, 2.0]), leaf(np.array([1.0 + 1.0j, 2.0]))
    y = x * c
    y.backward(np.ones(2, dtype=np.complex128))
    assert x.grad.dtype == np.float64
    same(x.grad, [1.0, 2.0])
    assert c.grad.dtype == np.complex128


def strict_leaf(device, shape=(2,)):
    strict = pytest.importorskip("array_api_strict")
    array = strict.ones(shape, dtype=strict.float64, device=strict.Device(device))
    return strict, ag.asarray(array, requires_grad=True)


def test_VO5_a_gradient_on_another_device_is_refused():
    strict, x = strict_leaf("device1")
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - expected device .*device1.* but got"):
        backward([python_function(lambda g: strict.ones((2,), dtype=strict.float64), x)], [x.array])


def test_VO5_a_0d_gradient_is_moved():
    strict, x = strict_leaf("device1", ())
    backward([python_function(lambda g: strict.asarray(3.0, dtype=strict.float64), x)], [x.array])
    assert x.grad.device == strict.Device("device1")
    assert float(x.grad) == 3.0


def test_VO6_user_given_gradients_are_checked_without_naming_a_function():
    x = leaf(np.ones((2, 3)))
    edge = python_function(lambda g: g, x)
    for bad in (np.ones(5), "text", np.ones((2, 3)) * 1j):
        with pytest.raises((RuntimeError, TypeError)) as info:
            backward([edge], [bad])
        assert not str(info.value).startswith("Function")
    assert x.grad is None


def test_VO7_a_gradient_for_an_input_that_does_not_require_grad_is_ignored():
    x, c = leaf([1.0]), ag.tensor([1.0])
    backward([python_function(lambda g: (g, np.ones(7)), x, c)], [np.ones(1)])
    same(x.grad, [1.0])
    assert c.grad is None


@pytest.mark.parametrize("bad", ["text", object(), [1.0, 2.0], {}], ids=["str", "object", "list", "dict"])
def test_VO7_a_gradient_that_is_no_array_is_refused(bad):
    x = leaf([1.0, 2.0])
    with pytest.raises((RuntimeError, TypeError), match="Special.*got .*" + type(bad).__name__):
        through(lambda g: bad, x)
    assert x.grad is None


class Special(Exception):
    """An error of the tests' own."""


def failing(x):
    def fail(g):
        raise Special("stop")

    return python_function(fail, x, name="Failing")


def test_ER1_errors_of_tensor_hooks_reach_the_caller_as_they_are():
    error = Special("mine")

    def fails_here(g):
        raise error

    y = leaf(1.0) * 2.0
    y.register_hook(fails_here)
    with pytest.raises(Special) as info:
        (y * 3.0).backward()
    assert info.value is error
    assert "fails_here" in [entry.name for entry in info.traceback]


def test_ER1_errors_of_a_rules_array_library_reach_the_caller():
    x = leaf(np.array([[1.0, 2.0], [3.0, 4.0]]))
    y = ag.exp(x)
    y.grad_fn.register_prehook(lambda outputs: np.linalg.inv(np.zeros((2, 2))))
    with pytest.raises(np.linalg.LinAlgError):
        y.sum().backward()


def test_ER3_everything_works_after_an_error():
    x = leaf([1.0, 2.0])
    for _ in range(3):
        with pytest.raises(Special):
            backward([failing(x)], [np.ones(2)])
        assert ag.is_grad_enabled()
        (x * 2.0).sum().backward()
    same(x.grad, [6.0, 6.0])


def test_ER3_the_grad_mode_is_restored_after_an_error():
    x = leaf([1.0, 2.0])
    for mode in (True, False):
        with ag.set_grad_enabled(mode):
            for create_graph in (True, False):
                with pytest.raises(Special):
                    backward([failing(x)], [np.ones(2)], create_graph=create_graph)
                assert ag.is_grad_enabled() is mode


def test_ER4_leaves_that_were_accumulated_keep_their_gradient():
    x, w = leaf(2.0), leaf(3.0)
    bad = ag.exp(x)
    good = w * 6.0  # recorded later: runs first

    def fail(outputs):
        raise Special("stop")

    handle = bad.grad_fn.register_prehook(fail)
    z = bad + good
    with pytest.raises(Special):
        z.backward()
    assert x.grad is None
    same(w.grad, 6.0)
    handle.remove()
    bad.backward()  # the failing node kept its saved values
    np.testing.assert_allclose(x.grad.numpy(), np.exp(2.0))


def test_ER4_executed_nodes_stay_freed():
    x = leaf(2.0)
    y = ag.exp(x)

    def fail(outputs):
        raise Special("stop")

    y.grad_fn.register_prehook(fail)
    z = ag.exp(y)
    with pytest.raises(Special):
        z.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.backward()


def test_ER7_a_failed_run_leaves_nothing_queued_and_no_gradient():
    x = leaf(np.ones(3))
    y = x + 0.0
    made = []

    def fail(g):
        raise Special("stop")

    def make(g):
        new = g * 2.0
        made.append(weakref.ref(new))
        return new

    bad = python_function(fail, y)
    waiting = python_function(make, y)  # recorded later: runs first, and its gradient waits for the other's
    with pytest.raises(Special) as info:
        backward([bad, waiting], [np.ones(3), np.ones(3)])
    del info
    gc.collect()
    assert queued_tasks() == 0
    assert len(made) == 1
    assert made[0]() is None
    assert x.grad is None


def test_ER8_an_interrupt_is_seen_during_built_in_nodes():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = -y

    def run():
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        y.backward()

    signal.signal(signal.SIGALRM, signal.default_int_handler)  # the alarm does what Ctrl-C does
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert x.grad is None
    assert queued_tasks() == 0
