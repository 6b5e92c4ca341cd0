"""numpy.array and its like of Tensors and lists that hold them stay in the graph; `arraygrad.tensor` says that it ends.

Imports the public names of arraygrad. References: NumPy for values, dtypes and strides, finite differences for
gradients.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as anp

X = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])

# name -> what is made of the array x; n is NumPy or arraygrad.numpy
MADE = {
    "array": lambda n, x: n.array(x),
    "array, no copy": lambda n, x: n.array(x, copy=None),
    "array, never a copy": lambda n, x: n.array(x, copy=False),
    "array, float32": lambda n, x: n.array(x, dtype=np.float32),
    "array, dtype by name": lambda n, x: n.array(x, "f4"),
    "array, python's complex": lambda n, x: n.array(x, complex),
    "array, Fortran": lambda n, x: n.array(x, order="F"),
    "array, as it is": lambda n, x: n.array(x.T, order="A"),
    "array, kept": lambda n, x: n.array(x.T, order="K"),
    "array, C": lambda n, x: n.array(x.T, order="C"),
    "array, ndmin": lambda n, x: n.array(x, ndmin=4),
    "array of a list": lambda n, x: n.array([x[0], x[1]]),
    "array of a tuple": lambda n, x: n.array((x[0, 0], 2.0, x[1, 1])),
    "array of nested lists": lambda n, x: n.array([[x[0, 0], 1.0], (x[1, 2], x[0, 1] * x[1, 1])]),
    "array of lists and arrays": lambda n, x: n.array([x[0], np.ones(3), [1, 2, 3]]),
    "array of a list, float32": lambda n, x: n.array([x[0], x[1]], dtype=np.float32),
    "array of a list, Fortran": lambda n, x: n.array([x[0], x[1]], order="F", ndmin=3),
    "array of one": lambda n, x: n.array([x]),
    "asarray": lambda n, x: n.asarray(x),
    "asarray of a list": lambda n, x: n.asarray([x[0, 0], x[1, 1]]),
    "asarray, copy": lambda n, x: n.asarray(x, copy=True),
    "asanyarray": lambda n, x: n.asanyarray(x),
    "asanyarray of a list": lambda n, x: n.asanyarray([x[0], x[1]], np.float32, "F"),
    "ascontiguousarray": lambda n, x: n.ascontiguousarray(x.T),
    "ascontiguousarray of no axis": lambda n, x: n.ascontiguousarray(x[0, 0]),
    "asfortranarray": lambda n, x: n.asfortranarray(x),
    "asfortranarray of a list": lambda n, x: n.asfortranarray([x[0], x[1]]),
    "stack": lambda n, x: n.stack([x[0], [1.0, 2.0, 3.0]]),
    "concatenate": lambda n, x: n.concatenate([x[0], [1.0, 2.0]]),
    "vstack": lambda n, x: n.vstack([x[0], [1.0, 2.0, 3.0], x[1]]),
    "hstack": lambda n, x: n.hstack([x[0], [1.0, 2.0]]),
    "dstack": lambda n, x: n.dstack([x[0], [1.0, 2.0, 3.0]]),
    "column_stack": lambda n, x: n.column_stack([x[0], [1.0, 2.0, 3.0]]),
    "block": lambda n, x: n.block([[x, np.ones((2, 1))]]),
    "append": lambda n, x: n.append(x[0], [x[1, 1], 2.0]),
    "full": lambda n, x: n.full((2, 2), x[0, 0]),
}


def layout(array):
    """Row by row, column by column; an axis of length 1 may have any stride."""
    return array.flags.c_contiguous, array.flags.f_contiguous


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_made_of_tensors_has_numpys_value_and_the_gradient(make):
    expected = make(np, X)
    x = ag.tensor(X, requires_grad=True)
    found = make(anp, x)
    assert isinstance(found, ag.Tensor)
    assert found.dtype == expected.dtype
    assert found.requires_grad
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.shape == expected.shape
    assert layout(found) == layout(expected)
    narrow = expected.dtype == np.float32
    assert ag.gradcheck(
        lambda x: make(anp, x) ** 2, (x,), **({"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2} if narrow else {})
    )


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"])
def test_numpys_own_function_with_a_tensor_as_like_stays_in_the_graph(name):
    x = ag.tensor(X, requires_grad=True)
    for data, plain in ((x, X), ([x[0], x[1]], [X[0], X[1]]), ([x[0, 0], 2.0], [X[0, 0], 2.0])):
        found = getattr(np, name)(data, like=x)
        assert found.requires_grad
        expected = getattr(np, name)(plain)
        np.testing.assert_array_equal(found.numpy(), expected)
        assert layout(found) == layout(expected)
    with pytest.raises(TypeError, match="would drop its gradient"):
        getattr(np, name)(x)


def test_array_is_a_copy_and_the_others_share_memory_where_they_can():
    x = ag.tensor(X, requires_grad=True)
    assert not np.shares_memory(anp.array(x).array, x.array)
    assert anp.asanyarray(x) is x
    assert anp.array(x, copy=None) is x
    assert anp.array(x, dtype=float, copy=False) is x
    assert anp.ascontiguousarray(x) is x
    assert np.shares_memory(anp.array(X, copy=None).array, X)
    assert not np.shares_memory(anp.array(X).array, X)


def test_a_copy_that_is_forbidden_and_needed_is_an_error():
    x = ag.tensor(X, requires_grad=True)
    for make in (
        lambda n, x: n.array(x, dtype="f4", copy=False),
        lambda n, x: n.array([x[0], x[1]], copy=False),
        lambda n, x: n.asarray([x[0], x[1]], copy=False),
        lambda n, x: n.array(x, order="F", copy=False),
    ):
        with pytest.raises(ValueError, match="copy"):
            make(np, X)
        with pytest.raises(ValueError, match="copy"):
            make(anp, x)
    with pytest.raises(ValueError, match="copy"):
        ag.asarray([x[0], x[1]], copy=False)


def test_named_tuples_and_subclasses_of_list_are_stacked_as_lists():
    class Listed(list):
        pass

    x = ag.tensor([[4.0, 2.0], [2.0, 3.0]], requires_grad=True)
    for make in (lambda n, x: n.array(n.linalg.qr(x)), lambda n, x: n.array(Listed([x[0], x[1] * 2]))):
        found = make(anp, x)
        np.testing.assert_allclose(found.numpy(), make(np, x.numpy()))
        assert ag.gradcheck(lambda x, make=make: make(anp, x), (x,))


def test_data_without_tensors_become_leaves():
    for data in ([1.0, 2.0], (1, 2), 3.0, np.float32(2), X, range(3), [[1, 2], [3, 4]], memoryview(X[0].copy())):
        made = anp.array(data)
        assert made.is_leaf
        assert not made.requires_grad
        assert made.dtype == np.array(data).dtype
        np.testing.assert_array_equal(made.numpy(), np.array(data))
    assert anp.array([1.0, 2.0], requires_grad=True).requires_grad
    assert anp.array([1, 2], dtype=np.float32, requires_grad=True).dtype == np.float32
    assert anp.array(X, ndmin=3, order="F").strides == np.array(X, ndmin=3, order="F").strides


def test_what_is_no_array_of_numbers_is_refused():
    for data in ("text", [None], [1, "a"], np.array([None]), np.ma.masked_array([1.0], [True]), None, {}):
        with pytest.raises(TypeError):
            anp.array(data)
    x = ag.tensor(X, requires_grad=True)
    with pytest.raises(ValueError, match="shape"):
        anp.array([x[0], x[1, :2]])
    with pytest.raises(ValueError, match="order"):
        anp.array(x, order="X")


def test_an_array_of_another_library_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="to_backend"):
        anp.array(torch.ones(2))


def test_an_array_of_another_library_by_numpys_function():
    pytest.importorskip("torch")
    t = ag.torch.ones(2, requires_grad=True)
    made = np.array([t, t * 2], like=t)
    made.sum().backward()
    assert t.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("adopt", [False, True])
def test_an_array_made_inside_a_transform_keeps_the_gradient(adopt):
    def f(x):
        return anp.sum(anp.array([x[0] ** 2, 3.0 * x[1]]))

    assert ag.grad(f, adopt=adopt)(np.array([2.0, 5.0])).tolist() == [4.0, 3.0]

    def g(x):
        return np.sum(np.array([x[0] ** 2, 3.0 * x[1]], dtype=float, order="C", ndmin=2))

    assert ag.grad(g, adopt=True)(np.array([2.0, 5.0])).tolist() == [4.0, 3.0]


def test_adopted_functions_take_their_parameters_by_position():
    def f(x):
        return np.sum(np.asarray([x[0], x[1] * 2], float, "F"))

    assert ag.grad(f, adopt=True)(np.ones(2)).tolist() == [1.0, 2.0]


# arraygrad.tensor


def test_a_leaf_made_of_what_requires_grad_warns():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for data in (x, x * 2, [x, x], [x[0], 1.0], ((x[0],), (2.0,)), x[:1]):
        with pytest.warns(UserWarning, match=r"t\.detach\(\)\.copy\(\).*arraygrad\.asarray\(t, copy=True\)") as found:
            made = ag.tensor(data)
        assert len(found) == 1
        assert found[0].filename == __file__
        assert made.is_leaf
        assert not made.requires_grad
    with pytest.warns(UserWarning, match="new leaf"):
        ag.grad(lambda x: x.sum() + ag.tensor(x).sum())(np.ones(2))


def test_a_leaf_made_of_constants_does_not_warn():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (x.detach(), [x.detach(), x.detach()], x.numpy(), ag.ones(2), [1.0, 2.0], X):
            ag.tensor(data)
        with ag.no_grad():
            ag.tensor(x)
        assert ag.asarray(x, copy=True).requires_grad
        assert not ag.asarray(x.detach(), copy=True).requires_grad


# whole numbers


@pytest.mark.parametrize("dtype", ["uint64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("make", [np.array, np.asarray, lambda data, dtype: np.fromiter(data, dtype)])
def test_whole_numbers_beside_a_recorded_one_keep_all_digits(make, dtype):
    big = {"uint64": 2**64 - 2, "int64": 2**62 + 1, "uint8": 254, "bool": 2}[dtype]
    made = ag.adopt(lambda t: make([t, big], dtype=dtype))(ag.tensor(3.7, requires_grad=True))
    expected = make([3.7, big], dtype=dtype)
    assert made.dtype == expected.dtype
    assert made.tolist() == expected.tolist()
    assert not getattr(made, "requires_grad", False)


def test_a_whole_number_that_does_not_fit_is_numpys_error():
    with pytest.raises(OverflowError):
        ag.adopt(lambda t: np.array([t, 300], dtype=np.uint8))(ag.tensor(3.0, requires_grad=True))


def test_a_diagonal_of_no_values_stays():
    def f(x):
        a = np.outer(x, x)
        np.fill_diagonal(a, x[:0])
        return a.sum()

    np.testing.assert_allclose(ag.grad(f)(np.array([1.0, 2.0, 3.0])), np.full(3, 12.0))
