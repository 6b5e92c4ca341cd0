"""Functions of scipy.ndimage that write into `output=`, an array or a dtype: value, gradient, aliases, refusals."""

import importlib

import numpy as np
import pytest

theirs = pytest.importorskip("scipy.ndimage", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import ndimage as ours

IMAGE = np.random.default_rng(3).normal(size=(5, 6))
ROW = IMAGE[0]
KERNEL = np.array([[0.2, 0.5, 0.1], [0.3, 1.0, 0.4], [0.1, 0.6, 0.2]])

# Every function with a rule that has the parameter, with what it needs beside the image.
CALLS = {
    "correlate": (IMAGE, (KERNEL,)), "convolve": (IMAGE, (KERNEL,)), "correlate1d": (IMAGE, (KERNEL[0],)),
    "convolve1d": (IMAGE, (KERNEL[0],)), "gaussian_filter": (IMAGE, (1.0,)), "gaussian_filter1d": (ROW, (0.7,)),
    "uniform_filter": (IMAGE, (3,)), "uniform_filter1d": (ROW, (3,)), "sobel": (IMAGE, ()), "prewitt": (IMAGE, ()),
    "laplace": (IMAGE, ()), "gaussian_laplace": (IMAGE, (1.0,)), "gaussian_gradient_magnitude": (IMAGE, (1.0,)),
    "minimum_filter": (IMAGE, (3,)), "maximum_filter": (IMAGE, (3,)), "median_filter": (IMAGE, (3,)),
    "rank_filter": (IMAGE, (2, 3)), "percentile_filter": (IMAGE, (40, 3)), "minimum_filter1d": (ROW, (3,)),
    "maximum_filter1d": (ROW, (3,)), "grey_erosion": (IMAGE, (3,)), "grey_dilation": (IMAGE, (3,)),
    "grey_opening": (IMAGE, (3,)), "grey_closing": (IMAGE, (3,)), "white_tophat": (IMAGE, (3,)),
    "black_tophat": (IMAGE, (3,)), "morphological_gradient": (IMAGE, (3,)), "morphological_laplace": (IMAGE, (3,)),
    "shift": (IMAGE, (0.4,)), "zoom": (IMAGE, (1.0,)), "rotate": (IMAGE, (20.0, (1, 0), False)),
    "affine_transform": (IMAGE, (np.array([[0.9, 0.1], [0.0, 1.1]]),)), "spline_filter": (IMAGE, ()),
    "spline_filter1d": (IMAGE, ()), "map_coordinates": (IMAGE, (np.indices((5, 6)) * 0.7,)),
    "generic_filter": (IMAGE, (lambda window: (window * window).sum(), 3)),
    "geometric_transform": (IMAGE, (lambda at: (at[0] * 0.8, at[1] * 0.9),)),
}  # fmt: skip


# SciPy takes arrays alone, and a dtype for None.
IGNORE_DTYPES = ("morphological_gradient", "morphological_laplace")


def declared():
    from arraygrad.scipy._declare import REGISTRY

    return [name.partition(".")[2] for name, rule in REGISTRY.items() if name.startswith("ndimage.") and rule.of]


def test_every_function_with_the_parameter_is_among_the_calls():
    import inspect

    having = {name for name in declared() if "output" in inspect.signature(getattr(theirs, name)).parameters}
    assert having - {"vectorized_filter", "generic_filter1d", "fourier_gaussian", "fourier_uniform", "fourier_shift",
                     "fourier_ellipsoid", "generic_laplace", "generic_gradient_magnitude"} == set(CALLS)  # fmt: skip


def gradient(call, image, weights):
    return ag.grad(lambda image: ag.sum(call(image) * weights))(image)


@pytest.mark.parametrize("name", CALLS)
def test_arrays_and_dtypes(name):
    image, rest = CALLS[name]
    function, plain = getattr(ours, name), getattr(theirs, name)
    wanted = plain(image, *rest)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, wanted.shape)
    expected = gradient(lambda x: function(x, *rest), image, weights)

    def into(x):
        output = ag.zeros(wanted.shape)
        alias = output[:1]
        found = function(x, *rest, output=output)
        assert found is output
        np.testing.assert_array_equal(alias.detach().numpy(), wanted[:1])
        return found

    np.testing.assert_array_equal(into(ag.asarray(image)).numpy(), wanted)
    np.testing.assert_allclose(gradient(into, image, weights), expected, rtol=1e-12, atol=1e-14)
    single, narrow = function(ag.tensor(image, requires_grad=True), *rest, output=np.float32), wanted
    if name not in IGNORE_DTYPES:
        narrow = plain(image, *rest, output=np.float32)
    assert single.dtype == narrow.dtype
    np.testing.assert_array_equal(single.detach().numpy(), narrow)
    found = gradient(lambda x: function(x, *rest, output=np.float32), image, weights.astype(np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    if name not in (*IGNORE_DTYPES, "white_tophat", "black_tophat"):  # SciPy's error
        whole = function(ag.tensor(10.0 * image, requires_grad=True), *rest, output=int)
        assert not whole.requires_grad
        if name not in ("generic_filter", "geometric_transform"):
            np.testing.assert_array_equal(whole.numpy(), plain(10.0 * image, *rest, output=int))


def test_the_image_itself_as_output():
    def smoothed(x):
        y = x * 1.0
        ours.gaussian_filter(y, 1.0, output=y)
        ours.uniform_filter(y, 3, output=y)
        return y

    y = IMAGE.copy()
    theirs.gaussian_filter(y, 1.0, output=y)
    theirs.uniform_filter(y, 3, output=y)
    np.testing.assert_allclose(smoothed(ag.asarray(IMAGE)).numpy(), y, rtol=1e-14)
    expected = gradient(lambda x: ours.uniform_filter(ours.gaussian_filter(x, 1.0), 3), IMAGE, y)
    np.testing.assert_allclose(gradient(smoothed, IMAGE, y), expected, rtol=1e-12)


def test_second_derivatives():
    def twice(x):
        output = ag.zeros(IMAGE.shape)
        ours.gaussian_filter(x, 1.0, output=output)
        return ag.sum(output**3)

    h, d = 1e-5, np.random.default_rng(2).normal(size=IMAGE.shape)
    first = ag.grad(twice)
    found = ag.hvp(twice)(IMAGE, d)
    np.testing.assert_allclose(found, (first(IMAGE + h * d) - first(IMAGE - h * d)) / (2 * h), rtol=1e-6, atol=1e-8)


def test_a_plain_array_takes_no_recorded_result_and_any_other():
    plain = np.zeros(IMAGE.shape)
    with pytest.raises(TypeError, match="plain array"):
        ours.gaussian_filter(ag.tensor(IMAGE, requires_grad=True), 1.0, output=plain)
    assert not plain.any()
    assert ours.gaussian_filter(ag.asarray(IMAGE), 1.0, output=plain) is plain
    np.testing.assert_array_equal(plain, theirs.gaussian_filter(IMAGE, 1.0))


def test_an_array_of_another_shape_is_scipys_error():
    with pytest.raises(RuntimeError, match="shape"):
        ours.gaussian_filter(ag.tensor(IMAGE, requires_grad=True), 1.0, output=ag.zeros((2, 2)))


@pytest.mark.parametrize("name", CALLS)
def test_adopted(name):
    image, rest = CALLS[name]
    module = importlib.import_module("scipy.ndimage")

    def program(x):
        output = np.empty(module.laplace(image).shape)
        getattr(module, name)(x, *rest, output=output)
        return (output**2).sum()

    def direct(x):
        return ag.sum(getattr(ours, name)(x, *rest) ** 2)

    np.testing.assert_allclose(ag.grad(program, adopt=True)(image), ag.grad(direct)(image), rtol=1e-12, atol=1e-13)
