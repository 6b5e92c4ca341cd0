"""norm and pad: values against NumPy's, on two libraries, and refusals. Gradients are in the samples.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

strict = pytest.importorskip("array_api_strict")
BOTH = pytest.mark.parametrize("make", [np.asarray, strict.asarray], ids=["numpy", "strict"])

X = np.random.default_rng(2).uniform(-2, 2, (2, 3, 4))

NORMS = [
    *[(order, axis) for order in (None, 1, 2, 3, 0.5, np.inf, -np.inf) for axis in (0, -1, (1,))],
    *[(order, (0, 1)) for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[(order, axis) for order in (None, "nuc", 1, -2, np.inf) for axis in ((-1, 0), [2, 1])],
    (None, None),
]


@BOTH
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("order", "axis"), NORMS)
def test_norm_is_numpys(make, order, axis, keepdims):
    found = ag.norm(make(X), ord=order, axis=axis, keepdims=keepdims).numpy()
    expected = np.linalg.norm(X, ord=order, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found.shape == expected.shape


@pytest.mark.parametrize("order", [None, 1, 2, np.inf, "fro", "nuc"])
def test_norm_without_axis_goes_by_the_dimensions(order):
    np.testing.assert_allclose(ag.norm(X[0], order).array, np.linalg.norm(X[0], order))
    if not isinstance(order, str):
        np.testing.assert_allclose(ag.norm(X[0, 0], order).array, np.linalg.norm(X[0, 0], order))


def test_numpys_norm_of_a_tensor_is_the_same_operation():
    t = ag.tensor(X, requires_grad=True)
    y = np.linalg.norm(t, axis=(0, 2), keepdims=True)
    assert y.grad_fn.name() == "NormBackward"
    np.testing.assert_allclose(y.detach().array, np.linalg.norm(X, axis=(0, 2), keepdims=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ord": 2}, r"norm: expected one axis or two with ord=2, found 3"),
        ({"axis": (0, 1, 2)}, r"norm: expected one axis or two with ord=None, found 3"),
        ({"axis": (0, -3)}, r"norm: the two axes must differ, got axis=\(0, -3\)"),
    ],
)
def test_norm_refuses_other_numbers_of_axes(options, message):
    with pytest.raises(ValueError, match=message):
        ag.norm(X, **options)


# -- pad ---------------------------------------------------------------------------------------------------------------

WIDTHS = [
    2, (1, 3), ((0, 5), (9, 0), (1, 1)), [[1, 0], [0, 0], [2, 2]], ((2,), (1,), (0,)), {0: 2, -1: (1, 3)}, np.int64(1),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize("width", WIDTHS, ids=str)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad_is_numpys(make, mode, width):
    pairs = [(0, 0)] * 3
    if isinstance(width, dict):
        for axis, pair in width.items():
            pairs[axis] = pair if isinstance(pair, tuple) else (pair, pair)
    else:
        pairs = width
    np.testing.assert_array_equal(ag.pad(make(X), width, mode).numpy(), np.pad(X, pairs, mode))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_pad_repeats_an_axis_of_one_element(mode):
    np.testing.assert_array_equal(ag.pad(X[:, :1], 3, mode).array, np.pad(X[:, :1], 3, mode))


@BOTH
@pytest.mark.parametrize("values", [3.0, (1.0, 2.0), ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)), [[1.0], [2.0], [3.0]]])
def test_constant_values_are_those_of_numpy_in_the_corners_too(make, values):
    found = ag.pad(make(X), ((1, 2), (3, 0), (0, 2)), constant_values=values)
    np.testing.assert_array_equal(found.numpy(), np.pad(X, ((1, 2), (3, 0), (0, 2)), constant_values=values))


def test_gradient_of_constant_values_counts_what_each_filled():
    v = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.pad(np.zeros((2, 3)), ((1, 0), (0, 2)), constant_values=v).sum().backward()
    assert v.grad.tolist() == [3.0, 6.0]


def test_gradient_of_repeated_elements_is_summed():
    t = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ag.pad(t, (2, 1), "edge").sum().backward()
    assert t.grad.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex64, np.bool])
@pytest.mark.parametrize("mode", ["constant", "wrap"])
def test_pad_keeps_the_dtype(mode, dtype):
    assert ag.pad(np.ones(3, dtype), 1, mode).dtype == dtype


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_pad_of_nothing_is_a_copy(mode):
    t = ag.tensor(X)
    y = ag.pad(t, 0, mode)
    y[...] = 0.0
    np.testing.assert_array_equal(t.array, X)


def test_numpys_pad_of_a_tensor_is_recorded():
    t = ag.tensor(X, requires_grad=True)
    assert np.pad(t, 1, "reflect", reflect_type="even").requires_grad
    assert np.pad(t, 1, constant_values=2.0).requires_grad
    for options in ({"reflect_type": "odd"}, {"end_values": 1}):
        with pytest.raises(ValueError, match="unsupported keyword arguments for mode 'constant'"):
            np.pad(t, 1, **options)
    with pytest.raises(TypeError, match=r"numpy\.pad: a function as mode .* is not recorded: compose"):
        np.pad(t, 1, lambda *args: None)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((1, "mean"), {}, ValueError, r"pad: expected mode as one of 'constant', .* got 'mean': pad with"),
        ((1, "linear_ramp"), {}, ValueError, r"got 'linear_ramp': compose it"),
        ((1, "nonsense"), {}, ValueError, r"got 'nonsense'$"),
        ((-1,), {}, ValueError, r"pad: pad_width can't be negative, got -1"),
        ((((1, 2), (3, 4)),), {}, ValueError, r"pad: expected pad_width as an int, .* for each of 3 axes"),
        ((((1, 2, 3),) * 3,), {}, ValueError, r"pad: expected pad_width as an int"),
        ((1.5,), {}, TypeError, r"pad: pad_width must hold ints, got 1\.5"),
        (({5: 1},), {}, ValueError, r"pad: pad_width names axis 5, but the array has 3 dimensions"),
        ((1, "edge"), {"constant_values": 2.0}, TypeError, r"constant_values is for mode='constant' alone"),
    ],
)
def test_pad_refuses_what_it_does_not_do(arguments, options, error, message):
    with pytest.raises(error, match=message):
        ag.pad(X, *arguments, **options)


def test_pad_that_repeats_an_empty_axis_is_refused():
    with pytest.raises(ValueError, match="axis 0 has no elements that mode='wrap' could repeat"):
        ag.pad(np.zeros(0), 1, "wrap")


# -- real dtypes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sigmoid", "relu", "softmax", "log_softmax", "logsumexp"])
def test_function_that_needs_an_order_refuses_complex_numbers(name):
    with pytest.raises(TypeError, match=rf"{name}: expected an array of a real dtype, found complex128"):
        getattr(ag, name)(np.asarray([1j, 2.0]))


def test_third_derivative_of_sigmoid_at_zero_is_right():
    x = ag.tensor(np.zeros(1), requires_grad=True)
    g = ag.sigmoid(x)
    for _ in range(3):
        (g,) = ag.autograd.grad(g, [x], [ag.asarray(np.ones(1))], create_graph=True)
    np.testing.assert_allclose(g.numpy(), [-0.125])
