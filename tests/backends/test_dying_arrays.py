"""Saved arrays that nobody will read again take the gradient that is made of them; all others stay as they are."""

import contextlib
import sysconfig
import threading
import weakref

import numpy as np
import pytest
from fast_path_cases import plain, same, values_of

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad import memory

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
A = values_of("float64", 0, 0.2, 3.0)((60, 80))
OPERATIONS = {
    "exp": lambda x: an.exp(x),
    "sqrt": lambda x: an.sqrt(x),
    "tanh": lambda x: an.tanh(x),
    "square": lambda x: (x + 1.0) ** 2,
    "by itself": lambda x: (lambda d: d * d)(x + 1.0),
    "quotient": lambda x: 3.0 / (x + 1.0),
    "power": lambda x: (x + 1.0) ** (x + 2.0),
    "log": lambda x: an.log(x + 1.0),
}


def requests(function):
    function()
    before = memory.statistics()
    function()
    after = memory.statistics()
    return sum(after[k] - before[k] for k in ("hits", "misses"))


def squared_difference(x):
    d = x + 1.0
    return d * d


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL another thread may be about to read it")
def test_a_gradient_takes_the_memory_of_what_only_its_node_saved():
    g = ag.tensor(np.ones(A.shape))

    def run(keep):
        x = ag.tensor(A, requires_grad=True)
        squared_difference(x).backward(g, retain_graph=keep)

    assert requests(lambda: run(False)) == requests(lambda: run(True)) - 1


@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_are_those_of_the_plain_path(operation):
    g = values_of("float64", 3)(A.shape)

    def run():
        x = ag.tensor(A, requires_grad=True)
        OPERATIONS[operation](x).backward(ag.tensor(g))
        return x.grad.array

    def through_a_sum():
        x = ag.tensor(A, requires_grad=True)
        an.sum(OPERATIONS[operation](x)).backward()
        return x.grad.array

    for function in (run, through_a_sum):
        if operation == "quotient":
            np.testing.assert_allclose(function(), plain(function), rtol=1e-15)
        else:
            same(function(), plain(function))


HOLDERS = {
    "its Tensor": lambda d: d,
    "a detached Tensor": lambda d: d.detach(),
    "a view": lambda d: d[3:],
    "a view of a view": lambda d: d[3:].T,
    "its array": lambda d: d.array,
    "a view of its array": lambda d: d.array[::2],
    "NumPy's view": lambda d: np.asarray(d.detach())[1:],
    "a buffer": lambda d: memoryview(d.array),
    "another library's view": lambda d: np.from_dlpack(d.detach()),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("operation", ["multiply", "square", "exp"])
def test_what_somebody_holds_is_not_written(operation, holder):
    x = ag.tensor(A, requires_grad=True)
    d = an.exp(x) if operation == "exp" else x + 1.0
    held = HOLDERS[holder](d)
    before = np.array(held.detach().array if isinstance(held, ag.Tensor) else held)
    out = an.sum(d * 1.0 if operation == "exp" else d * d if operation == "multiply" else d**2)
    del d
    out.backward()
    after = np.array(held.detach().array if isinstance(held, ag.Tensor) else held)
    np.testing.assert_array_equal(after, before)


def test_what_another_node_saved_is_not_written():
    x = ag.tensor(A, requires_grad=True)
    d = x + 1.0
    first, second = an.sum(d * d), an.sum(an.sin(d))
    del d
    first.backward()
    second.backward()
    np.testing.assert_allclose(x.grad.array, 2 * (A + 1) + np.cos(A + 1), rtol=1e-14)


def test_what_a_leaf_shows_is_not_written():
    x = ag.tensor(A, requires_grad=True)
    an.sum(x * x).backward()
    np.testing.assert_array_equal(x.detach().array, A)


def test_arguments_of_transforms_are_not_written():
    a = A.copy()
    np.testing.assert_allclose(ag.grad(lambda x: an.sum(x * x))(a), 2 * A)
    np.testing.assert_allclose(ag.grad(lambda x: an.sum(x * ag.asarray(a)))(a), A)
    np.testing.assert_array_equal(a, A)


def test_the_value_of_a_transform_is_not_written():
    value, pullback = ag.vjp(lambda x: an.exp(x), A)
    (got,) = pullback(np.ones(A.shape))
    np.testing.assert_array_equal(np.asarray(value), np.exp(A))
    np.testing.assert_array_equal(np.asarray(got), np.exp(A))


def test_a_graph_that_is_kept_gives_the_same_again():
    x = ag.tensor(A, requires_grad=True)
    out = an.sum(squared_difference(x))
    found = [ag.autograd.grad(out, [x], retain_graph=k < 2)[0].array for k in range(3)]
    for got in found:
        np.testing.assert_array_equal(got, found[0])
    np.testing.assert_allclose(found[0], 2 * (A + 1))


def test_what_saved_tensor_hooks_packed_is_not_written():
    kept = []

    def pack(t):
        kept.append(t)
        return t

    x = ag.tensor(A, requires_grad=True)
    with ag.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = an.sum(squared_difference(x))
    out.backward()
    assert kept
    for t in kept:
        np.testing.assert_array_equal(t.detach().array, A + 1.0)


def test_what_is_read_from_the_node_before_is_not_written():
    x = ag.tensor(A, requires_grad=True)
    product = squared_difference(x)
    saved = product.grad_fn.saved
    arrays = {name: np.asarray(a.detach() if isinstance(a, ag.Tensor) else a) for name, a in saved.items()}
    before = {name: a.copy() for name, a in arrays.items()}
    an.sum(product).backward()
    for name, a in arrays.items():
        np.testing.assert_array_equal(a, before[name])


def test_a_constant_of_the_program_is_not_written():
    w = A.copy()
    x = ag.tensor(A, requires_grad=True)
    an.sum(x * w).backward()
    an.sum(w / x).backward()
    np.testing.assert_array_equal(w, A)


def test_an_array_whose_variable_is_gone_may_be_written_but_gradients_are_right():
    x = ag.tensor(A, requires_grad=True)
    an.sum(an.exp(x) * np.sqrt(A)).backward()
    np.testing.assert_allclose(x.grad.array, np.exp(A) * np.sqrt(A), rtol=1e-14)


def test_a_rule_that_raised_can_not_give_a_wrong_gradient_afterwards():
    a = np.full((60, 80), 1e200)
    x = ag.tensor(a, requires_grad=True)

    def record():
        d = x * 1.0
        return d * d

    with np.errstate(all="ignore"):
        out = record()
    g = ag.tensor(np.full(a.shape, 1e200))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        out.backward(g)
    with np.errstate(all="ignore"), contextlib.suppress(RuntimeError):  # of a second backward
        out.backward(g)
    if x.grad is not None:
        np.testing.assert_array_equal(x.grad.array, np.full(a.shape, np.inf))


def test_two_threads_with_one_graph():
    for _ in range(20):
        x = ag.tensor(np.tile(A, (20, 1)), requires_grad=True)
        out = an.sum(squared_difference(x), axis=-1)
        g = ag.tensor(np.ones(out.shape))
        found, begin = [], threading.Barrier(2)

        def run(out=out, x=x, g=g, found=found, begin=begin):
            begin.wait()
            try:
                found.append(ag.autograd.grad(out, [x], [g])[0].array)
            except RuntimeError as error:
                found.append(str(error))

        threads = [threading.Thread(target=run) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        gradients = [a for a in found if not isinstance(a, str)]
        assert gradients
        for a in gradients:
            np.testing.assert_allclose(a, 2 * (x.detach().array + 1))


def test_a_tensor_that_is_only_weakly_known_does_not_count():
    x = ag.tensor(A, requires_grad=True)
    d = x + 1.0
    known = weakref.ref(d)
    out = an.sum(d * d)
    del d
    assert known() is None
    out.backward()
    np.testing.assert_allclose(x.grad.array, 2 * (A + 1))
