"""Arithmetic on single numbers and single elements of arrays: what the short path gives is what the ordinary one gives.

See Note [Single numbers] in backends/numpy/single.hpp and Note [Elements] in core/elements.pyx. The ordinary path is
taken with set_fast_paths(False).
"""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad.autograd import graph

TINY = np.finfo(np.float64).tiny
VALUES = [0.0, -0.0, 1.5, -3.0, TINY, TINY / 4, -TINY / 8, 1e308, -1e308, 1e-200, np.inf, -np.inf, np.nan]
OPERATORS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}
DTYPES = [np.float64, np.float32]


def observed(f, *values):
    """(bytes of the value, bytes of the gradients, texts of the warnings) of f at values, as Tensors without axes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leaves = [ag.asarray(np.array(v), requires_grad=True) for v in values]
        out = f(*leaves)
        out.backward()
    gradients = [leaf.grad.array.tobytes() for leaf in leaves]
    return out.array.tobytes(), gradients, sorted(str(w.message) for w in caught)


@pytest.mark.parametrize("name", OPERATORS)
def test_two_numbers_give_the_bits_and_warnings_of_the_ordinary_path(name):
    for a in VALUES:
        for b in VALUES:
            with np.errstate(all="warn"):
                found = observed(OPERATORS[name], a, b)
                expected = plain(observed, OPERATORS[name], a, b)
            assert found == expected, (name, a, b)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("number", [2, 2.5, -1, 0, 2**53 + 2, True])
def test_a_number_beside_a_tensor_gives_the_bits_of_the_ordinary_path(name, number):
    for a in (1.5, -0.25, TINY):
        for f in (lambda t: OPERATORS[name](t, number), lambda t: OPERATORS[name](number, t)):
            with np.errstate(all="warn"):
                found = observed(f, a)
                expected = plain(observed, f, a)
            assert found == expected, (name, a, number)


@pytest.mark.parametrize(("a", "b"), [(1e200, 1e200), (1e-200, 1e-200), (np.inf, 0.0)])
def test_an_error_of_floating_point_is_raised_where_errstate_says_so(a, b):
    x, y = ag.asarray(np.array(a)), ag.asarray(np.array(b))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="multiply"):
        x * y


def test_no_error_is_reported_where_none_happened():
    x = ag.asarray(np.array(0.0))
    with np.errstate(all="raise"):
        assert (x * 5.0).item() == 0.0
        assert (x / 5.0).item() == 0.0
        assert (x - x).item() == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_other_dtypes_keep_theirs(dtype):
    x = ag.asarray(np.array(3, dtype))
    for f in OPERATORS.values():
        assert f(x, x).dtype == f(np.array(3, dtype)[()], np.array(3, dtype)[()]).dtype


def test_a_number_that_is_written_in_place_by_an_operator_keeps_its_memory():
    a = np.array(2.0)
    t = ag.asarray(a)
    t += 1.0
    assert a == 3.0


# Elements

LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": lambda a: a.copy(order="F"),
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "part": lambda a: np.repeat(a, 2, axis=0)[::2],
    "swapped": lambda a: a.astype(a.dtype.newbyteorder(">")),
}
KEYS = {(5,): [0, 4, -5, (2,), (-1,)], (3, 4): [(0, 0), (2, -1), (-3, 1)], (2, 3, 2): [(1, 2, 0), (-1, -3, -2)]}
CASES = [(shape, key, layout) for shape in KEYS for key in KEYS[shape] for layout in LAYOUTS]


def array(shape, dtype=np.float64):
    return np.random.default_rng(7).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "key", "layout"), CASES)
def test_an_element_is_a_scalar_of_the_value_and_its_gradient_stands_at_its_place(shape, key, layout, dtype):
    a = LAYOUTS[layout](array(shape, dtype))
    x = ag.asarray(a, requires_grad=True)
    out = x[key]
    assert out.shape == ()
    assert out.dtype == dtype
    assert out.array == a[key]
    (out * 3.0).backward()
    expected = np.zeros(shape, dtype)
    expected[key] = 3.0
    np.testing.assert_array_equal(x.grad.array, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_elements_read_many_times_are_summed_in_the_order_of_the_ordinary_path(dtype):
    generator = np.random.default_rng(3)
    a = array((4, 3), dtype)
    reads = [(int(i), int(j)) for i, j in generator.integers(-3, 3, (40, 2))]
    weights = generator.normal(size=40).astype(dtype)

    def gradient():
        x = ag.asarray(a, requires_grad=True)
        total = ag.asarray(np.zeros((), dtype))
        for key, weight in zip(reads, weights, strict=True):
            total = total + x[key] * ag.asarray(np.asarray(weight))
        total.backward()
        return x.grad.array

    found = gradient()
    np.testing.assert_array_equal(found, plain(gradient))


def test_a_sum_of_element_gradients_that_overflows_warns_as_the_ordinary_path_does():
    def gradient():
        x = ag.asarray(np.ones(3), requires_grad=True)
        with pytest.warns(RuntimeWarning, match="overflow encountered"):
            (x[1] * 1e308 + x[1] * 1e308).backward()
        return x.grad.array

    found = gradient()
    np.testing.assert_array_equal(found, plain(gradient))


@pytest.mark.parametrize("key", [5, -6, (5,), (0, 0), 2**70])
def test_a_place_outside_is_numpys_error(key):
    x = ag.asarray(array(5), requires_grad=True)
    with pytest.raises(IndexError) as expected:
        x.array[key]
    with pytest.raises(IndexError) as found:
        x[key]
    assert str(found.value) == str(expected.value)
    with pytest.raises(IndexError):
        (x * 1.0)[key] = 2.0


def test_an_element_shares_no_memory_with_the_array():
    x = ag.asarray(array(5))
    first = x[1]
    before = first.item()
    x[1] = 100.0
    assert first.item() == before
    first += 1.0
    assert x[1].item() == 100.0


def test_an_element_of_a_view_follows_writes_into_its_base():
    base = ag.asarray(array((3, 4)), requires_grad=True) * 1.0
    row = base[1]
    w = ag.asarray(np.array(2.0), requires_grad=True)
    base[1, 2] = w * 3.0
    row[2].backward()
    assert w.grad.item() == 3.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "key", "layout"), CASES)
def test_what_is_written_gets_its_gradient_and_the_array_none_there(shape, key, layout, dtype):
    if layout == "swapped":
        pytest.skip("a computed array has the byte order of the machine")
    a = array(shape, dtype)
    weights = array(shape, dtype)
    x = ag.asarray(a, requires_grad=True)
    w = ag.asarray(np.array(2.5, dtype), requires_grad=True)
    y = ag.asarray(LAYOUTS[layout](np.zeros(shape, dtype)))
    y[...] = x
    y[key] = w
    expected = a.copy()
    expected[key] = 2.5
    np.testing.assert_array_equal(y.array, expected)
    (y * weights).sum().backward()
    np.testing.assert_array_equal(w.grad.array, weights[key])
    expected = weights.copy()
    expected[key] = 0
    np.testing.assert_array_equal(x.grad.array, expected)


@pytest.mark.parametrize("value", [2.5, 3, -0.0, True, np.float32(0.1), np.array(4.0), 2**70])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_is_written_as_numpy_writes_it(value, dtype):
    a = array(5, dtype)
    y = ag.asarray(a, requires_grad=True) * 1.0
    y[3] = value
    a[3] = value
    assert y.array.tobytes() == a.tobytes()


def test_a_number_that_single_precision_can_not_hold_is_written_as_numpy_writes_it():
    y = ag.asarray(array(3, np.float32), requires_grad=True) * 1.0
    with pytest.warns(RuntimeWarning, match="overflow"):
        y[0] = 1e300
    assert np.isinf(y[0].item())


def test_elements_written_and_read_in_a_loop_have_the_gradient_of_the_ordinary_path():
    a = array(12)

    def gradient():
        u = ag.asarray(a, requires_grad=True)
        v = u * 1.0
        for _ in range(3):
            new = v * 1.0
            for i in range(1, 11):
                new[i] = v[i] - 0.1 * v[i] * (v[i] - v[i - 1]) + 0.05 * (v[i + 1] - 2 * v[i] + v[i - 1])
                new[i] += 0.5 * v[i]
            v = new
        (v * v).sum().backward()
        return u.grad.array

    found = gradient()
    expected = plain(gradient)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
    step = 1e-6

    def value(b):
        v = b.copy()
        for _ in range(3):
            new = v.copy()
            for i in range(1, 11):
                new[i] = v[i] - 0.1 * v[i] * (v[i] - v[i - 1]) + 0.05 * (v[i + 1] - 2 * v[i] + v[i - 1])
                new[i] += 0.5 * v[i]
            v = new
        return (v * v).sum()

    unit = np.eye(12)
    differences = [(value(a + step * e) - value(a - step * e)) / (2 * step) for e in unit]
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-7)


def test_what_a_node_saved_of_an_array_outlives_a_write_of_an_element():
    x = ag.asarray(array(4), requires_grad=True) * 1.0
    squares = (x * x).sum()
    before = x.array.copy()
    leaf = ag.asarray(np.array(9.0), requires_grad=True)
    x[2] = leaf
    graph_of = squares.grad_fn
    assert graph_of is not None
    (g,) = ag.autograd.grad(squares, [leaf], allow_unused=True)
    assert g is None
    assert not np.array_equal(before, x.array)


def test_writing_an_element_of_a_leaf_is_refused():
    x = ag.asarray(array(4), requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x[1] = 2.0


def test_writing_an_element_of_a_read_only_array_is_numpys_error():
    a = array(4)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ag.asarray(a)[1] = 2.0


def test_writing_an_element_where_elements_share_memory_is_refused():
    x = ag.asarray(array(1), requires_grad=True)
    y = ag.asarray(np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)))
    with pytest.raises(RuntimeError, match="single memory location"):
        y[1] = x[0]


def test_a_recorded_value_in_an_array_of_integers_is_refused():
    y = ag.asarray(np.zeros(3, int))
    with pytest.raises(TypeError, match="gradient would be lost"):
        y[1] = ag.asarray(np.array(1.0), requires_grad=True)


def test_hooks_for_saved_values_see_what_the_ordinary_path_shows():
    def packed():
        seen = []
        x = ag.asarray(array(4), requires_grad=True)
        with graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
            y = x * 1.0
            y[1] = x[0] * x[2]
            y.sum().backward()
        return seen, x.grad.array

    seen, found = packed()
    other, expected = plain(packed)
    assert seen == other
    np.testing.assert_array_equal(found, expected)


def test_second_derivatives_go_through_elements():
    a = array(4)
    hessian = ag.hessian(lambda x: x[0] * x[1] * x[1] + x[2] ** 3 / x[0])(a)
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 2 * a[1]
    expected[1, 1] = 2 * a[0]
    expected[2, 2] = 6 * a[2] / a[0]
    expected[0, 2] = expected[2, 0] = -3 * a[2] ** 2 / a[0] ** 2
    expected[0, 0] = 2 * a[2] ** 3 / a[0] ** 3
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)


def test_nothing_is_recorded_under_no_grad():
    x = ag.asarray(array(4), requires_grad=True)
    with ag.no_grad():
        assert not x[1].requires_grad
        x[1] = 7.0
    assert x[1].item() == 7.0
    assert x.is_leaf
