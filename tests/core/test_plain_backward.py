"""The compiled way of everyday backward() calls gives what the general way gives, and leaves the rest to it."""

import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.roots import set_compiled_backward, try_plain_backward


@pytest.fixture
def general_way():
    previous = set_compiled_backward(False)
    yield
    set_compiled_backward(previous)


def outcome(make, gradient, **options):
    """What backward() did: the gradient of the leaf with its dtype, or the error's type and text."""
    x, y = make()
    try:
        y.backward(gradient(y), **options)
    except Exception as error:
        return type(error), str(error)
    return None if x.grad is None else (x.grad.array.tobytes(), x.grad.dtype, x.grad.shape)


def leaf(data, dtype=np.float64):
    return ag.asarray(np.array(data, dtype=dtype), requires_grad=True)


def scalar(dtype):
    x = leaf([1.0, 2.0], dtype)
    return x, (x * x).sum()


def one_element(shape):
    x = leaf(np.full(shape, 3.0))
    return x, x * 2.0


def constant():
    return leaf([1.0]), ag.asarray(np.array([1.0]))


def complex_scalar():
    x = leaf([1.0 + 2.0j], np.complex128)
    return x, (x * x).sum()


def itself():
    x = leaf([2.0])
    return x, x


def several():
    x = leaf([1.0, 2.0, 3.0])
    return x, x * x


def view_of_written():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    view = y[:1]
    y *= 3.0
    return x, view


MAKERS = {
    "float64": lambda: scalar(np.float64),
    "float32": lambda: scalar(np.float32),
    "shape (1,)": lambda: one_element((1,)),
    "shape (1, 1, 1)": lambda: one_element((1, 1, 1)),
    "nine axes": lambda: one_element((1,) * 9),
    "nothing": lambda: one_element((0,)),
    "constant": constant,
    "complex": complex_scalar,
    "leaf": itself,
    "vector": several,
    "view": view_of_written,
}
GRADIENTS = {
    "none": lambda y: None,
    "ones": lambda y: np.ones(y.shape, y.dtype),
    "tensor": lambda y: ag.asarray(np.full(y.shape, 2.0, y.dtype)),
    "strided": lambda y: np.full((*y.shape, 2), 2.0, y.dtype)[..., 0],
    "float16": lambda y: np.ones(y.shape, np.float16),
    "integers": lambda y: np.ones(y.shape, np.int64),
    "swapped bytes": lambda y: np.ones(y.shape, y.dtype).astype(y.dtype.newbyteorder()),
    "complex": lambda y: np.ones(y.shape, np.complex128),
    "wrong shape": lambda y: np.ones((2, 3), y.dtype),
    "number": lambda y: 1.0,
    "text": lambda y: "one",
}


@pytest.mark.parametrize("retain", [None, False, True])
@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_plain_backward_does_what_the_general_way_does(maker, gradient, retain, general_way):
    expected = outcome(MAKERS[maker], GRADIENTS[gradient], retain_graph=retain)
    set_compiled_backward(True)
    assert outcome(MAKERS[maker], GRADIENTS[gradient], retain_graph=retain) == expected


@pytest.mark.parametrize("retain", [None, False, True])
def test_plain_backward_frees_and_keeps_the_graph_as_asked(retain):
    _, y = scalar(np.float64)
    assert try_plain_backward(y, None, retain)
    if retain:
        y.backward()
    else:
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_a_gradient_that_was_given_is_never_the_leafs_own():
    x = leaf([1.0])
    given = np.array([5.0])
    assert try_plain_backward(x, given, None)
    x.grad.array[0] = 7.0
    assert given[0] == 5.0


def test_an_error_in_a_hook_leaves_the_next_plain_backward_as_it_is():
    x, y = one_element((1,))
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        try_plain_backward(y, None, True)
    assert x.grad is None
    handle.remove()
    assert try_plain_backward(y, None, True)
    assert x.grad.array.tolist() == [2.0]


def test_a_plain_backward_within_a_hook_of_another_runs():
    x, y = one_element((1,))
    inner_x, inner_y = one_element((1,))
    y.register_hook(lambda g: inner_y.backward())
    y.backward()
    assert (x.grad.array[0], inner_x.grad.array[0]) == (2.0, 2.0)


def test_create_graph_and_inputs_take_the_general_way():
    x, y = scalar(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)
    assert x.grad.requires_grad
    x, y = scalar(np.float64)
    other = leaf([1.0])
    (y * other.sum()).backward(inputs=[other])
    assert x.grad is None
