"""`t.array -= x`: the array is written, then set to what it is."""

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag


def test_a_parameter_is_updated_through_its_array():
    x = leaf([1.0, 2.0])
    (x**2).sum().backward()
    x.array -= 0.1 * x.grad.array
    same(x, [0.8, 1.6])
    x.grad = None
    (x**2).sum().backward()
    same(x.grad, [1.6, 3.2])


def test_a_number_is_updated_too():
    x = leaf(2.0)
    x.array -= 0.5
    same(x, 1.5)
    assert x.ndim == 0


def test_what_a_node_has_saved_is_overwritten():
    x = leaf([1.0, 2.0])
    y = (x**2).sum()
    x.array -= 1.0
    with pytest.raises(RuntimeError, match="written"):
        y.backward()


def test_a_tensor_with_a_history_refuses():
    y = leaf([1.0, 2.0]) * 2
    with pytest.raises(RuntimeError, match=r"Tensor\.array was written in place, which is not recorded"):
        y.array *= 3.0


def test_a_view_of_a_tensor_with_a_history_refuses():
    y = leaf([1.0, 2.0]) * 2
    view = y[:1]
    with pytest.raises(RuntimeError, match=r"Tensor\.array was written in place, which is not recorded"):
        view.array *= 3.0


@pytest.mark.parametrize("other", [np.zeros(2), None, 1.0])
def test_another_array_is_refused(other):
    x = leaf([1.0, 2.0])
    with pytest.raises(AttributeError, match=r"Tensor\.array can't be replaced: write t\[\.\.\.\] = values"):
        x.array = other
    same(x, [1.0, 2.0])


def test_a_library_of_immutable_arrays_says_so():
    pytest.importorskip("array_api_strict")
    x = ag.to_backend(leaf([1.0, 2.0]).detach(), "array_api_strict")
    with pytest.raises(AttributeError, match=r"Tensor\.array can't be replaced"):
        x.array = x.array + 1.0


def test_a_tensor_in_the_place_of_values_says_how_a_parameter_is_updated():
    x = leaf([1.0, 2.0])
    (x**2).sum().backward()
    with pytest.raises(TypeError, match=r"p -= rate \* p\.grad under\s+arraygrad\.no_grad\(\)"):
        x.array -= 0.1 * x.grad
    same(x, [1.0, 2.0])
