"""Arrays that nobody should give: each gets the right answer, or a clear error before anything has changed."""

import warnings

import numpy as np
import pytest

import arraygrad as ag


def leaf():
    return ag.tensor([1.0, 2.0, 3.0], requires_grad=True)


class Units(np.ndarray):
    """A subclass that means something by its class."""


class Quantity:
    """A duck array in the way of pint: it answers for NumPy's functions."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        return "a quantity"

    def __array_function__(self, func, types, args, kwargs):
        return "a quantity"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


NO_NUMBERS = {
    "object": np.array([1.0, 2.0, 3.0], dtype=object),
    "mixed": np.array([1, "a", None], dtype=object),
    "structured": np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]),
    "datetime": np.array(["2020-01-01"] * 3, dtype="M8[D]"),
    "timedelta": np.array([1, 2, 3], dtype="m8[s]"),
    "text": np.array(["a", "b", "c"]),
    "bytes": np.array([b"a"] * 3),
    "void": np.zeros(3, dtype="V8"),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.asmatrix([1.0, 2.0, 3.0])
NO_ARRAYS = {
    "matrix": MATRIX,
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "subclass": np.ones(3).view(Units),
    "quantity": Quantity([1.0, 2.0, 3.0]),
    "record": np.ones(3).view(np.recarray),
}
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

# With a leaf and the array, each would record something.
OPERATIONS = {
    "times": lambda x, a: x * a,
    "array times": lambda x, a: a * x,
    "plus": lambda x, a: x + a,
    "divided by": lambda x, a: x / a,
    "matmul": lambda x, a: x @ a,
    "maximum": ag.maximum,
    "where, first": lambda x, a: ag.where(x.detach() > 1, a, x),
    "where, second": lambda x, a: ag.where(x.detach() > 1, x, a),
    "concat": lambda x, a: ag.concat([x, a]),
    "stack": lambda x, a: ag.stack([x, a]),
    "clip": lambda x, a: ag.clip(x, a, None),
    "einsum": lambda x, a: ag.einsum("i,i", x, a),
    "tensordot": lambda x, a: ag.tensordot(x, a, axes=1),
    "vecdot": ag.vecdot,
    "np.multiply": np.multiply,
    "np.concatenate": lambda x, a: np.concatenate([x, a]),
    "np.where": lambda x, a: np.where(x.detach().array > 1, x, a),
    "np.dot": np.dot,
}
ERRORS = (TypeError, ValueError, AttributeError, IndexError)


@pytest.mark.parametrize("array", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("make", [ag.asarray, ag.tensor, lambda a: ag.asarray(a, requires_grad=True)])
def test_an_array_without_numbers_is_no_tensor(make, array):
    ways = "astype|take one field|numpy.timedelta64"
    with pytest.raises(TypeError, match=rf"array of numbers or booleans, but got dtype.*({ways})"):
        make(array)


@pytest.mark.parametrize("array", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_never_drops_the_gradient_of_what_meets_an_array_without_numbers(operation, array):
    x = leaf()
    try:
        result = operation(x, array)
    except ERRORS:
        assert x.grad is None
        return
    assert isinstance(result, ag.Tensor)
    assert result.requires_grad
    assert result.dtype == np.float64


@pytest.mark.parametrize("array", NO_ARRAYS.values(), ids=NO_ARRAYS)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_refuses_arrays_that_mean_more_than_their_numbers(operation, array):
    with pytest.raises(ERRORS):
        operation(leaf(), array)


@pytest.mark.parametrize("array", NO_ARRAYS.values(), ids=NO_ARRAYS)
@pytest.mark.parametrize("make", [ag.asarray, ag.tensor])
def test_arrays_that_mean_more_than_their_numbers_are_no_tensors(make, array):
    with pytest.raises(TypeError, match=r"numpy\.asarray|filled|convert it"):
        make(array)


@pytest.mark.parametrize("array", NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_such_an_array_is_not_written_into_a_tensor(array):
    x = leaf()
    y = x * 1.0
    with pytest.raises(TypeError):
        y[:] = array
    np.testing.assert_array_equal(y.array, [1.0, 2.0, 3.0])
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.array, np.ones(3))


@pytest.mark.parametrize("array", [*NO_NUMBERS.values(), *NO_ARRAYS.values()], ids=[*NO_NUMBERS, *NO_ARRAYS])
def test_such_an_array_is_no_gradient(array):
    x = leaf()
    y = x * 1.0
    with pytest.raises((TypeError, RuntimeError), match=r"dtype|expected an array|numpy\.asarray|filled"):
        y.backward(array)
    with pytest.raises(TypeError):
        x.grad = array
    assert x.grad is None
    y.backward(np.ones(3))
    np.testing.assert_array_equal(x.grad.array, np.ones(3))


@pytest.mark.parametrize("array", [NO_ARRAYS["quantity"], NO_ARRAYS["masked"]], ids=["quantity", "masked"])
@pytest.mark.parametrize("make", [lambda a: ag.full((3,), a), lambda a: ag.full_like(np.ones(3), a)])
def test_such_an_array_does_not_fill(make, array):
    with pytest.raises(TypeError, match="fill_value"):
        make(array)


@pytest.mark.parametrize("dtype", ["O", "M8[D]", "m8[s]", "U3", [("a", "f8")], "V8"])
def test_a_cast_to_what_is_no_number_is_refused(dtype):
    with pytest.raises(TypeError, match=r"no numbers|array of numbers"):
        leaf().astype(np.dtype(dtype))


# Layouts and byte orders

BASE = np.arange(1.0, 25.0).reshape(4, 6)


def unaligned():
    buffer = bytearray(BASE.nbytes + 1)
    array = np.frombuffer(buffer, dtype="u1")[1:].view("f8").reshape(BASE.shape)
    array[...] = BASE
    assert not array.flags.aligned
    return array


def read_only():
    array = BASE.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {
    "negative strides": lambda: BASE[::-1, ::-1][::-1, ::-1].copy()[::-1, ::-1],
    "Fortran": lambda: np.asfortranarray(BASE),
    "transposed": lambda: BASE.T.copy().T,
    "every second": lambda: np.repeat(np.repeat(BASE, 2, 0), 2, 1)[::2, ::2],
    "unaligned": unaligned,
    "byte-swapped": lambda: BASE.astype(BASE.dtype.newbyteorder()),
    "read-only": read_only,
    "broadcast": lambda: np.broadcast_to(BASE[0], BASE.shape),
    "overlapping windows": lambda: np.lib.stride_tricks.as_strided(np.arange(1.0, 10.0), (4, 6), (8, 8)),
    "half": lambda: BASE.astype("e"),
    "longdouble": lambda: BASE.astype("g"),
    "frombuffer": lambda: np.frombuffer(BASE.tobytes()).reshape(BASE.shape),
}


def work(t, c):
    """Products, views, a reduction, a product of matrices."""
    return (t * t * c + ag.sin(t)).sum() + (t @ np.ones((6, 2))).sum() + t[1:, ::2].mean()


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("constant", [False, True])
def test_the_layout_of_an_array_does_not_change_its_gradient(make, constant):
    array = make()
    plain = np.array(array, dtype="f8", order="C")
    before = array.copy()
    if constant:
        x = ag.asarray(plain, requires_grad=True)
        work(x, array).backward()
    else:
        x = ag.asarray(array, requires_grad=True)
        work(x, plain).backward()
    expected = 2 * plain * plain + np.cos(plain) + 2.0
    expected[1:, ::2] += 1 / 9
    rough = array.dtype == np.float16 and not constant
    np.testing.assert_allclose(x.grad.array.astype("f8"), expected, rtol=0.01 if rough else 1e-12)
    assert x.grad.dtype == x.dtype
    assert x.grad.array.dtype.isnative
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("make", [read_only, lambda: np.broadcast_to(1.0, (4, 6))])
def test_read_only_memory_is_not_written_and_nothing_is_recorded(make):
    t = ag.asarray(make())
    x = ag.tensor(np.ones((4, 6)), requires_grad=True)
    before = t.array.copy()
    for write in (lambda: t.__iadd__(x), lambda: t.__setitem__(0, 1.0), lambda: t.__setitem__((0, 0), x[0, 0])):
        with pytest.raises(ValueError, match="read-only"):
            write()
        assert t.grad_fn is None
        assert not t.requires_grad
        np.testing.assert_array_equal(t.array, before)


def test_a_memory_mapped_file_is_differentiated_through_a_plain_view(tmp_path):
    mapped = np.memmap(tmp_path / "data", dtype="f8", mode="w+", shape=(4, 6))
    mapped[...] = BASE
    with pytest.raises(TypeError, match=r"memmap.*numpy\.asarray\(x\), which shares its memory"):
        ag.asarray(mapped)
    x = ag.asarray(np.asarray(mapped), requires_grad=True)
    assert np.shares_memory(x.array, mapped)
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad.array, 2 * BASE)


@pytest.mark.parametrize("mode", ["r", "c"])
def test_read_only_and_copy_on_write_maps_serve_as_constants(tmp_path, mode):
    np.memmap(tmp_path / "data", dtype="f8", mode="w+", shape=(4, 6))[...] = BASE
    mapped = np.asarray(np.memmap(tmp_path / "data", dtype="f8", mode=mode, shape=(4, 6)))
    x = ag.tensor(np.ones((4, 6)), requires_grad=True)
    (x * mapped).sum().backward()
    np.testing.assert_array_equal(x.grad.array, BASE)


def test_an_array_resized_after_it_was_wrapped_is_refused():
    a = np.ones((4, 4))
    x = ag.asarray(a, requires_grad=True)
    y = (x * a).sum()
    a.resize((2, 8), refcheck=False)
    with pytest.raises(RuntimeError):
        y.backward()
    assert x.grad is None


# Shapes

HUGE = {
    "zeros": lambda x: ag.zeros((2**62,)),
    "zeros in two dimensions": lambda x: ag.zeros((2**32, 2**32)),
    "broadcast_to": lambda x: ag.broadcast_to(x[0], (2**62, 4)),
    "reshape": lambda x: ag.reshape(x, (2**62, 4)),
    "reshape, unknown beside zero": lambda x: ag.reshape(x, (-1, 0)),
    "negative": lambda x: ag.zeros((-1,)),
    "outer": lambda x: ag.broadcast_to(x[0], (2**31, 1)) * ag.broadcast_to(x[0], (1, 2**31)),
    "tile": lambda x: ag.tile(x, (2**60,)),
    "repeat": lambda x: ag.repeat(x, 2**61),
    "eye": lambda x: ag.eye(2**40),
    "arange": lambda x: ag.arange(2**62),
    "linspace": lambda x: ag.linspace(0, 1, 2**62),
    "pad": lambda x: ag.pad(x, 2**61),
    "index": lambda x: x[2**63],
    "take": lambda x: ag.take(x, np.array([2**62])),
    "int beyond float": lambda x: x * 10**400,
    "power beyond float": lambda x: x ** (10**400),
    "int beyond int64": lambda x: ag.asarray([1, 2]) + 2**70,
    "full of a huge int": lambda x: ag.full((3,), 10**400),
    "65 dimensions": lambda x: ag.reshape(x[:1], (1,) * 65),
    "shape of nan": lambda x: ag.zeros((float("nan"),)),
}


@pytest.mark.parametrize("make", HUGE.values(), ids=HUGE)
def test_a_shape_or_number_that_overflows_is_an_error(make):
    x = leaf()
    with pytest.raises((ValueError, OverflowError, MemoryError, IndexError, TypeError)) as found:
        make(x)
    assert str(found.value)
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 2.0, 2.0])


def test_sixty_four_dimensions_are_differentiated():
    x = leaf()
    (ag.reshape(x[:1], (1,) * 64) * 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [3.0, 0.0, 0.0])


@pytest.mark.parametrize("make", [ag.asarray, ag.tensor, lambda it: ag.concat(it), lambda it: ag.stack([leaf(), it])])
def test_a_list_that_holds_itself_is_an_error(make):
    cyclic = [1.0]
    cyclic.append(cyclic)
    with pytest.raises((RecursionError, ValueError, TypeError)):
        make(cyclic)


def test_a_tuple_nested_ten_thousand_deep_is_an_error():
    deep = ()
    for _ in range(10_000):
        deep = (deep,)
    with pytest.raises((RecursionError, ValueError, TypeError, IndexError)):
        leaf()[deep]
    with pytest.raises((RecursionError, ValueError, TypeError)):
        ag.asarray(deep)


EMPTY = {
    "times": lambda z: z * 2.0,
    "times a constant": lambda z: z * np.zeros((0, 3)),
    "matmul": lambda z: z @ np.ones((3, 2)),
    "matmul to full": lambda z: ag.matrix_transpose(z) @ z,
    "prod": ag.prod,
    "sort": lambda z: ag.sort(z, axis=0),
    "concat": lambda z: ag.concat([z, np.ones((1, 3))]),
    "stack": lambda z: ag.stack([z, z]),
    "softmax": lambda z: ag.softmax(z, axis=1),
    "norm": ag.norm,
    "cumulative_sum": lambda z: ag.cumulative_sum(z, axis=0),
    "einsum": lambda z: ag.einsum("ij,ij->", z, z),
    "mean of rows": lambda z: ag.mean(z, axis=1),
    "std of rows": lambda z: ag.std(z, axis=1),
    "pad": lambda z: ag.pad(z, 1),
    "clip": lambda z: ag.clip(z, 0, 1),
    "roll": lambda z: ag.roll(z, 1),
    "flip": ag.flip,
    "diff": lambda z: ag.diff(z, axis=0),
    "mask": lambda z: z[np.zeros((0, 3), dtype=bool)],
    "slice": lambda z: z[:, 1:],
    "take": lambda z: ag.take(z, np.zeros(0, dtype=np.int64), axis=1),
    "reshape": lambda z: ag.reshape(z, (3, 0)),
    "broadcast": lambda z: ag.broadcast_to(z, (5, 0, 3)),
    "setitem": lambda z: _written(z),
    "inv": lambda z: ag.linalg.inv(ag.reshape(z, (3, 0, 0))),
    "det": lambda z: ag.linalg.det(ag.reshape(z, (3, 0, 0))),
}


def _written(z):
    y = z * 1.0
    y[:] = 5.0
    return y


@pytest.mark.parametrize("function", EMPTY.values(), ids=EMPTY)
def test_an_empty_array_has_an_empty_gradient(function):
    z = ag.tensor(np.zeros((0, 3)), requires_grad=True)
    function(z).sum().backward()
    assert z.grad.shape == (0, 3)
    assert z.grad.dtype == np.float64


@pytest.mark.parametrize("function", [ag.max, ag.min, ag.argmax, lambda z: z[0]])
def test_what_an_empty_array_does_not_have_is_an_error(function):
    with pytest.raises((ValueError, IndexError), match=r"zero-size|empty|out of bounds"):
        function(ag.tensor(np.zeros((0, 3)), requires_grad=True))


def test_the_derivatives_of_functions_of_empty_arrays_have_empty_shapes():
    assert ag.jacobian(lambda a: a * 2)(np.zeros(0)).shape == (0, 0)
    assert ag.hessian(lambda a: (a * a).sum())(np.zeros(0)).shape == (0, 0)
    value, gradient = ag.value_and_grad(lambda a: (a * a).sum())(np.zeros((0, 2)))
    assert value == 0
    assert gradient.shape == (0, 2)
