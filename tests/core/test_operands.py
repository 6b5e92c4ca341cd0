"""Lists, text, None and other objects beside a Tensor in an operator: what NumPy's ndarray makes of them.

Imports the public names of arraygrad. Values, dtypes and errors are NumPy's own for the same call, gradients are
finite differences or written out.
"""

import array
import collections
import operator
import warnings

import numpy as np
import pytest

import arraygrad as ag

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod, operator.floordiv]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]

SEQUENCES = {
    "ints": [1, 2],
    "floats": [1.5, 2.0],
    "bools": [True, False],
    "complex": [1j, 2.0],
    "mixed": [1, 2.5],
    "numpy scalars": [np.float32(1), np.float32(2)],
    "tuple": (3, 4),
    "nested": [[1, 2], [3, 4]],
    "nested tuples": ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)),
    "arrays": [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    "one": [2],
    "empty rows": [[], []],
    "range": range(1, 3),
    "deque": collections.deque([1.0, 2.0]),
    "array.array": array.array("f", [1.0, 2.0]),
    "memoryview": memoryview(np.array([1, 2], dtype="i2")),
    "empty": [],
    "three": [1, 2, 3],
    "ragged": [1, [2, 3]],
    "None inside": [None, 1.0],
    "text inside": ["a", "b"],
}
ARRAYS = {
    "float32": np.array([1.0, 2.0], "f4"),
    "float64": np.array([1.0, 2.0]),
    "int8": np.array([1, 2], "i1"),
    "bool": np.array([True, False]),
    "complex64": np.array([1.0, 2.0j], "c8"),
    "0-d float": np.array(2.0),
    "0-d int": np.array(3),
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0]], "f4"),
}


def outcome(operation, left, right):
    """The result; ValueError where lengths do not fit or a list is ragged, TypeError where there are no numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return operation(left, right)
        except (TypeError, ValueError) as error:
            return ValueError if isinstance(error, ValueError) else TypeError


def is_same(found, expected):
    """Compare a result with what NumPy gave for the arrays; an array of objects is an error for Tensors."""
    if getattr(expected, "dtype", None) is np.dtype(object):
        expected = TypeError
    if isinstance(expected, type):
        assert found in (expected, TypeError)
        return
    assert type(found) is ag.Tensor
    assert found.dtype == np.asarray(expected).dtype
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_sequence_beside_a_tensor_is_what_it_is_beside_an_array(values, name, tracked):
    other = SEQUENCES[name]
    t = ag.tensor(values, requires_grad=tracked and values.dtype.kind in "fc")
    for operation in [*ARITHMETIC, *COMPARISONS, *BITS, operator.matmul]:
        is_same(outcome(operation, t, other), outcome(operation, values, other))
        if operation not in COMPARISONS or name != "memoryview":  # which compares buffers itself
            is_same(outcome(operation, other, t), outcome(operation, other, values))


OBJECTS = {
    "None": None,
    "text": "ab",
    "bytes": b"ab",
    "numpy text": np.str_("ab"),
    "date": np.datetime64("2020-01-01"),
    "dict": {"a": 1},
    "set": {1.0},
    "object": object(),
    "ellipsis": ...,
    "slice": slice(None),
    "type": float,
}


@pytest.mark.parametrize("other", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_comparison_with_what_is_no_number_is_numpys(values, other, tracked):
    t = ag.tensor(values, requires_grad=tracked and values.dtype.kind in "fc")
    for operation in COMPARISONS:
        is_same(outcome(operation, t, other), outcome(operation, values, other))
        if not isinstance(other, np.datetime64):  # which answers itself, with an array of False
            is_same(outcome(operation, other, t), outcome(operation, other, values))


@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "date"])
@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
def test_arithmetic_with_what_is_no_number_is_an_error(values, name):
    other = OBJECTS[name]
    for operation in [operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul]:
        for left, right in ((ag.asarray(values), other), (other, ag.asarray(values))):
            with pytest.raises((TypeError, ValueError)):
                operation(left, right)


def test_none_is_equal_to_no_element():
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    assert (t == None).tolist() == [False, False]  # noqa: E711
    assert (t != None).tolist() == [True, True]  # noqa: E711


def test_a_list_of_ints_beside_float32_gives_float64():
    t = ag.tensor(np.ones(2, "f4"), requires_grad=True)
    result = t + [1, 2]
    assert result.dtype == np.float64
    (result * [1.0, 10.0]).sum().backward()
    assert t.grad.dtype == np.float32
    assert t.grad.tolist() == [1.0, 10.0]


@pytest.mark.parametrize("scalar", [2.0, 2], ids=["float", "int"])
def test_a_list_times_a_tensor_of_no_dimension_is_multiplied_and_not_repeated(scalar):
    t = ag.asarray(scalar)
    for listed in ([1.0, 2.0], (1.0, 2.0), [3], [[1, 2]]):
        is_same(listed * t, listed * np.array(scalar))
        is_same(t * listed, np.array(scalar) * listed)
    for text in ("ab", b"ab", bytearray(b"ab"), [None], ["a"]):
        is_same(outcome(operator.mul, text, t), outcome(operator.mul, text, np.array(scalar)))


COMPUTED = {
    "a sum": lambda a: a.sum(),
    "an element": lambda a: a[1],
    "argmax": lambda a: a.argmax(),
    "np.max": np.max,
    "a count": lambda a: (a > 1).sum(),
    "a cast": lambda a: a.sum().astype("i2"),
    "a product": lambda a: a[0] * 3,
}


@pytest.mark.parametrize("compute", COMPUTED.values(), ids=COMPUTED)
def test_a_computed_integer_repeats_as_numpys_scalar(compute):
    values = np.array([1, 2, 3])
    n, expected = compute(ag.asarray(values)), compute(values)
    sequences = ([0.0], (1, 2), "ab", b"ab", bytearray(b"ab"), [None], [[1], [2, 3]], array.array("d", [1.0]))
    for sequence in (*sequences, collections.deque([1])):
        assert type(sequence * n) is type(sequence)
        assert sequence * n == sequence * expected
        assert n * sequence == expected * sequence
    is_same([1, 2] + n, [1, 2] + expected)
    is_same(range(3) * n, range(3) * expected)
    x = ag.tensor(1.5, requires_grad=True)
    repeated = [x] * n
    assert len(repeated) == expected
    assert all(item is x for item in repeated)


def test_a_computed_real_number_multiplies_the_elements_of_a_list():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    (x.sum() * [1.0, 2.0] + [3.0, 4.0] * x[0]).sum().backward()
    assert x.grad.tolist() == [10.0, 3.0]


def test_an_integer_of_a_library_that_repeats_lists_repeats_them():
    torch = pytest.importorskip("torch")
    assert [1, 2] * ag.torch.asarray(2) == [1, 2] * torch.tensor(2) == [1, 2, 1, 2]


def test_a_list_that_a_tensor_is_added_to_in_place_becomes_a_tensor_as_with_an_array():
    t, listed = ag.tensor([3.0, 4.0], requires_grad=True), [1, 2]
    listed += t
    assert isinstance(listed, ag.Tensor)
    assert listed.tolist() == [4.0, 6.0]
    assert listed.requires_grad


CASES = {
    "x + list": lambda x: x + [1.0, 2.0, 3.0],
    "list - x": lambda x: [1.0, 2.0, 3.0] - x,
    "x * tuple": lambda x: x * (2, 3, 4),
    "list / x": lambda x: [1.0, 2.0, 3.0] / x,
    "x ** list": lambda x: x ** [2, 3, 0.5],
    "list ** x": lambda x: [2.0, 3.0, 4.0] ** x,
    "x @ list": lambda x: x @ [1.0, 2.0, 3.0],
    "nested list @ x": lambda x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] @ x,
    "x * list of its elements": lambda x: x * [x[0], 2.0, x[2] ** 2],
    "list of its elements * x": lambda x: (x[0], 2.0, x[2] ** 2) * x,
    "list of Tensors / itself": lambda x: [x, x * 2, x**2] / x,
    "nested list of Tensors": lambda x: x[:2] * [[x[0], x[1]], [1.0, x[2]]],
    "list of Tensors @ x": lambda x: [x, np.ones(3), x**3] @ x,
    "0-d * list": lambda x: x[:1].reshape(()) * [1.0, 2.0],
    "list * 0-d": lambda x: [1.0, x[0]] * x[2:].reshape(()),
    "where it is less": lambda x: x * ((x < [1.0, 1.0, 7.0]) * 1.0),
    "x += tuple": lambda x: operator.iadd(x * 1.0, (1.0, 2.0, 3.0)) ** 2,
    "x *= list": lambda x: operator.imul(x * 1.0, [1.0, 2.0, 3.0]) ** 2,
    "x *= list of its elements": lambda x: operator.imul(x * 1.0, [x[0], 2.0, x[1] * x[2]]) ** 2,
    "x /= list of Tensors": lambda x: operator.itruediv(x * 1.0, [x[1], x[2], x[0]]),
    "x[...] = list": lambda x: operator.iadd((x * 1.0)[1:], [x[0], 3.0]),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES)
def test_gradients_through_operators_with_lists(f):
    values = np.array([0.5, 1.25, 2.0])
    x = ag.tensor(values, requires_grad=True)
    np.testing.assert_allclose(f(x).numpy(), f(values), rtol=1e-14)
    assert ag.gradcheck(f, (x,))
    assert ag.gradgradcheck(f, (x,))


def test_a_write_in_place_with_a_list_keeps_the_dtype_and_the_memory():
    y = ag.tensor(np.ones(2, "f4"))
    memory = y.array
    y += [1, 2]
    y *= (2.0, 3.0)
    assert y.array is memory
    assert y.dtype == np.float32
    assert y.tolist() == [4.0, 9.0]
    n = ag.asarray(np.array([1, 2]))
    with pytest.raises(TypeError, match="dtype"):
        n += [0.5, 1.0]
    with pytest.raises(ValueError, match="shape"):
        n += [[1, 2], [3, 4]]
    assert n.tolist() == [1, 2]


def test_a_ragged_list_of_tensors_is_the_value_error_of_numpy():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for ragged in ([x, [1.0]], [x[0], x], [[x[0]], [x[0], x[1]]]):
        with pytest.raises(ValueError, match=r"shape"):
            x + ragged
        with pytest.raises(ValueError, match=r"shape"):
            x == ragged  # noqa: B015


def test_a_buffer_written_after_the_operation_does_not_change_the_gradient():
    x, buffer = ag.tensor([1.0, 2.0], requires_grad=True), array.array("d", [3.0, 4.0])
    y = (x * buffer).sum()
    buffer[0] = 100.0
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_list_that_holds_itself_is_an_error():
    x, cyclic = ag.tensor([1.0, 2.0], requires_grad=True), [1.0]
    cyclic.append(cyclic)
    with pytest.raises((RecursionError, ValueError)):
        x + cyclic


def test_a_list_of_what_requires_grad_elsewhere_is_no_constant():
    """A container that hides a Tensor from us asks it for its values, which it refuses."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match="would drop its gradient"):
        x * collections.deque([x[0], 1.0])


def test_membership_compares_elements():
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    assert 2.0 in t
    assert 3.0 not in t
    assert [1.0, 5.0] in t
    assert [5.0, 6.0] not in t
    assert None not in t
    assert "a" not in t


@pytest.mark.parametrize("library", ["torch", "array_api_strict", "jax"])
def test_a_library_that_takes_no_lists_says_how_to_make_an_array(library):
    pytest.importorskip(library)
    t = getattr(ag, library).ones(2, requires_grad=True) * 1.0
    for operation in [*ARITHMETIC, *COMPARISONS, operator.matmul]:
        for listed in ([1.0, 2.0], (1.0, 2.0), [t[0], 1.0]):
            for left, right in ((t, listed), (listed, t)):
                with pytest.raises(TypeError, match=rf"{library}.*arraygrad\.{library}\.asarray"):
                    operation(left, right)
    with pytest.raises(TypeError, match="asarray"):
        t += [1.0, 2.0]


def test_a_library_that_takes_lists_gets_them():
    pytest.importorskip("dask")
    t = ag.dask.ones((2,), requires_grad=True)
    (t * [1.0, 2.0] + [1, 2]).sum().backward()
    assert np.asarray(t.grad.array).tolist() == [1.0, 2.0]


def test_numpys_functions_still_take_lists_beside_tensors_of_any_library():
    pytest.importorskip("torch")
    t = ag.torch.ones(2, requires_grad=True)
    np.add(t, [1.0, 2.0]).sum().backward()
    assert t.grad.tolist() == [1.0, 1.0]
