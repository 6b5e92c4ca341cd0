"""Gradients and values of rare spellings, beside NumPy's values and central differences."""

import numpy as np
import pytest

import arraygrad as ag


def tensor(values):
    return ag.tensor(np.asarray(values), requires_grad=True)


def slopes(f, x, step=1e-6):
    """Central differences of the sum of f(x), a real function of the real array x."""
    found = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        ends = []
        for s in (-step, step):
            y = x.copy()
            y[i] += s
            ends.append(np.sum(f(y)))
        found[i] = (ends[1] - ends[0]) / (2 * step)
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_modes_by_numbers_have_the_gradients_of_their_names(function, mode):
    x, w = np.array([0.7, -1.2, 2.0]), np.array([1.0, 2.0, -1.5])
    t = tensor(x)
    try:
        expected = function(x, w, mode)
    except (TypeError, ValueError):  # NumPy has given the numbers up
        return
    y = function(t, w, mode)
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    np.sum(y).backward()
    np.testing.assert_allclose(t.grad.numpy(), slopes(lambda x: function(x, w, mode), x), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("start", [0.7 + 0.4j, -0.3 - 1.1j, 2.0 + 0.0j])
@pytest.mark.parametrize("num", [1, 3])
def test_geometric_spacing_from_a_complex_start_has_its_derivative(start, num):
    def parts(x):
        return np.geomspace(x[0] + 1j * x[1], 2.0, num).real

    x = np.array([start.real, start.imag])
    t = tensor(start)
    y = np.geomspace(t, 2.0, num)
    np.testing.assert_allclose(y.detach().numpy(), np.geomspace(start, 2.0, num), rtol=1e-14)
    y.real.sum().backward()
    by_differences = slopes(parts, x)
    np.testing.assert_allclose([t.grad.numpy().real, t.grad.numpy().imag], by_differences, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("function", [np.prod, np.cumprod, np.mean])
def test_complex_numbers_in_a_real_dtype_are_refused(function):
    with pytest.raises(TypeError, match="imaginary parts"):
        function(tensor([1.0 + 2.0j, 0.5 - 1.0j]), 0, np.float64)


@pytest.mark.parametrize(
    "values",
    [np.array([200, 200], "u1"), np.array([True, True]), np.array([2**31 - 1] * 2, "i4"), np.array([6e4] * 2, "f2")],
    ids=["uint8", "bool", "int32", "float16"],
)
@pytest.mark.parametrize("function", [np.add, np.subtract])
def test_sums_at_places_are_of_the_dtype_that_they_are_added_to(function, values):
    a, t = np.zeros(1), tensor([0.0]) * 1.0
    function.at(a, [0, 0], values)
    function.at(t, [0, 0], values)
    np.testing.assert_array_equal(t.detach().numpy(), a)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (4, 1)])
def test_covariances_of_columns_are_numpys(shape):
    x = np.arange(12.0)[: shape[0] * shape[1]].reshape(shape) ** 2
    for function in (np.cov, np.corrcoef):
        expected = function(x, rowvar=False)
        found = function(tensor(x), rowvar=False)
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "fft2"])
def test_repeated_axes_with_lengths_have_no_gradient(name):
    t = tensor(np.arange(8.0).reshape(2, 4) ** 1.3)
    y = getattr(np.fft, name)(t, s=[3, 5], axes=(1, 1))
    np.testing.assert_array_equal(y.detach().numpy(), getattr(np.fft, name)(t.detach().numpy(), s=[3, 5], axes=(1, 1)))
    with pytest.raises(TypeError, match="one axis at a time"):
        np.sum(np.abs(y) ** 2).backward()


def test_repeated_axes_without_lengths_have_the_gradient_of_differences():
    x = np.arange(8.0).reshape(2, 4) ** 1.3
    t = tensor(x)
    np.sum(np.abs(np.fft.fftn(t, axes=(1, 0, 1)) - 1.0) ** 2).backward()
    expected = slopes(lambda x: np.abs(np.fft.fftn(x, axes=(1, 0, 1)) - 1.0) ** 2, x)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-6)
