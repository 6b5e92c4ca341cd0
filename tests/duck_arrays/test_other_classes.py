"""Operators between Tensors and classes that arraygrad does not know: the other class decides, as beside an ndarray.

Imports the public names of arraygrad. A class that turns the Tensor into an array loses its gradient: that is refused.
"""

import operator

import numpy as np
import pytest

import arraygrad as ag

REFLECTED = {
    operator.add: "__radd__",
    operator.sub: "__rsub__",
    operator.mul: "__rmul__",
    operator.truediv: "__rtruediv__",
    operator.floordiv: "__rfloordiv__",
    operator.mod: "__rmod__",
    operator.pow: "__rpow__",
    operator.matmul: "__rmatmul__",
    operator.and_: "__rand__",
    operator.or_: "__ror__",
    operator.xor: "__rxor__",
    operator.lshift: "__rlshift__",
    operator.rshift: "__rrshift__",
}
MIRRORED = {
    operator.lt: "__gt__",
    operator.le: "__ge__",
    operator.gt: "__lt__",
    operator.ge: "__le__",
    operator.eq: "__eq__",
    operator.ne: "__ne__",
}


def tensor(tracked=True):
    return ag.tensor([1.0, 2.0], requires_grad=tracked) * 1.0


def answering(names, **attributes):
    """An object whose methods `names` return their name and the other operand."""
    methods = {name: lambda self, other, name=name: (name, other) for name in names}
    return type("Answering", (), {**methods, **attributes, "__hash__": None})()


@pytest.mark.parametrize("operation", REFLECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("attributes", [{"__array_ufunc__": None}, {"__array_priority__": 1000}, {}])
@pytest.mark.parametrize("tracked", [False, True])
def test_the_reflected_operator_of_another_class_is_called(operation, attributes, tracked):
    t = tensor(tracked)
    found = operation(t, answering(REFLECTED.values(), **attributes))
    assert found == (REFLECTED[operation], t)
    assert found[1] is t


@pytest.mark.parametrize("operation", MIRRORED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("attributes", [{"__array_ufunc__": None}, {"__array_priority__": 1000}])
def test_the_comparison_of_a_class_with_precedence_is_called(operation, attributes):
    t = tensor()
    assert operation(t, answering(MIRRORED.values(), **attributes))[0] == MIRRORED[operation]


def test_a_comparison_with_a_class_without_precedence_is_element_by_element_as_numpys():
    class Anything:
        def __eq__(self, other):
            return True

        __hash__ = None

    values = np.array([1.0, 2.0])
    assert (values == Anything()).tolist() == [True, True]
    assert (ag.tensor(values, requires_grad=True) == Anything()).tolist() == [True, True]
    assert (ag.asarray(values) == object()).tolist() == (values == object()).tolist() == [False, False]


def test_lower_precedence_does_not_get_its_turn_in_comparisons():
    class Low:
        __array_priority__ = -5.0

        def __eq__(self, other):
            return "low"

        __hash__ = None

    # NumPy compares each element, which asks Low, whose answer is taken for a truth value.
    assert (np.ones(2) == Low()).tolist() == (ag.ones(2) == Low()).tolist() == [True, True]


def test_a_class_that_says_no_to_ufuncs_and_has_no_operator_is_an_error():
    class Silent:
        __array_ufunc__ = None

    for operation in REFLECTED:
        with pytest.raises(TypeError):
            operation(tensor(), Silent())
        with pytest.raises(TypeError):
            operation(Silent(), tensor())


class Converting:
    """A class that turns what it meets into arrays, in the way of table libraries."""

    __array_priority__ = 1000

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __rmul__(self, other):
        return Converting(np.asarray(other) * self.values)

    def __lt__(self, other):
        return np.asarray(other) > self.values


def test_a_class_that_converts_a_tensor_that_requires_grad_is_refused():
    for tracked in (tensor(), tensor()[0], ag.tensor([1.0, 2.0], requires_grad=True)):
        with pytest.raises(TypeError, match="would drop its gradient silently"):
            tracked * Converting([3.0, 4.0])
        with pytest.raises(TypeError, match="would drop its gradient silently"):
            tracked > Converting([3.0, 4.0])  # noqa: B015
    assert (tensor(False) * Converting([3.0, 4.0])).values.tolist() == [3.0, 8.0]
    assert (tensor().detach() * Converting([3.0, 4.0])).values.tolist() == [3.0, 8.0]


def test_a_write_in_place_does_not_bind_the_name_to_another_class():
    class Duck(Converting):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return NotImplemented

    t = tensor(False)
    with pytest.raises(TypeError, match="in place"):
        t *= Duck([3.0, 4.0])
    assert t.tolist() == [1.0, 2.0]


def test_arrays_that_mean_more_than_their_numbers_stay_refused():
    for other in (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), np.ones(2).view(np.recarray), np.ma.masked):
        for operation in (operator.mul, operator.add, operator.lt):
            with pytest.raises(TypeError):
                operation(tensor(), other)


def test_gradients_reach_through_a_class_that_keeps_the_tensor():
    class Box:
        """Holds what it is given; numbers beside it are scaled by what it holds."""

        __array_ufunc__ = None

        def __init__(self, held):
            self.held = held

        def __rmul__(self, other):
            return Box(other * self.held)

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    (x * Box(np.array([3.0, 4.0]))).held.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_the_ufunc_of_another_class_is_called():
    class Duck:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method, [type(x).__name__ for x in inputs]

        def __rmul__(self, other):
            return np.multiply(other, self)

    assert np.multiply(tensor(), Duck()) == ("multiply", "__call__", ["Tensor", "Duck"])
    assert tensor() * Duck() == ("multiply", "__call__", ["Tensor", "Duck"])


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "coo_array"])
def test_operators_of_sparse_matrices_are_recorded_and_comparisons_refused(kind):
    sparse = pytest.importorskip("scipy.sparse")
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    matrix = getattr(sparse, kind)(np.array([[0.0, 5.0], [6.0, 0.0]]))
    constant, tracked = ag.asarray(values), ag.tensor(values, requires_grad=True)
    for operation in (operator.matmul, operator.mul):
        for arrange in (lambda t: (t, matrix), lambda t: (matrix, t)):
            found, expected = operation(*arrange(constant)), operation(*arrange(values))
            found, expected = (a.toarray() if sparse.issparse(a) else a for a in (found, expected))
            np.testing.assert_array_equal(found, expected)
            recorded = operation(*arrange(tracked))
            recorded = recorded.toarray() if hasattr(recorded, "toarray") else recorded
            assert recorded.requires_grad
            np.testing.assert_array_equal(recorded.numpy(), expected)
    for operation in (operator.add, operator.sub):
        recorded = operation(tracked, matrix)
        recorded = getattr(recorded, "A", recorded)  # of a numpy.matrix
        assert recorded.requires_grad
        np.testing.assert_array_equal(recorded.numpy(), operation(values, matrix))
        with pytest.raises(TypeError):
            operation(constant, matrix)
    for operation in (operator.eq, operator.ne, operator.lt):
        for t in (constant, tracked):  # SciPy knows no Tensors there: never a single False
            with pytest.raises(TypeError):
                operation(t, matrix)


# xarray


def test_a_tensor_beside_an_array_with_labels_gives_one_of_tensors():
    xarray = pytest.importorskip("xarray")
    values = np.array([3.0, 4.0])
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for operation in (operator.mul, operator.add, operator.sub, operator.truediv, operator.pow):
        labelled = xarray.DataArray(values, dims="i", coords={"i": [10, 20]})
        for left, right in ((x, labelled), (labelled, x)):
            found = operation(left, right)
            assert isinstance(found, xarray.DataArray)
            assert found.coords["i"].values.tolist() == [10, 20]
            np.testing.assert_array_equal(
                found.data.numpy(), operation(*(v.detach().numpy() if v is x else values for v in (left, right)))
            )
        assert ag.gradcheck(lambda x, o=operation, d=labelled: o(x, d).data, (x,))
    assert isinstance(np.multiply(x, labelled), xarray.DataArray)
    assert np.multiply(x, labelled).data.requires_grad
    assert (x < labelled).data.tolist() == [True, True]
    with pytest.raises(TypeError, match="in place"):
        operator.imul(x * 1.0, labelled)


def test_a_tensor_beside_an_array_with_labels_of_no_dimension_keeps_its_gradient():
    xarray = pytest.importorskip("xarray")
    x, y = (ag.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    found = x * xarray.DataArray(y)
    assert isinstance(found, xarray.DataArray)
    found.data.backward()
    assert x.grad.item() == 3.0
    assert y.grad.item() == 2.0


# pandas


@pytest.mark.parametrize("kind", ["Series", "DataFrame", "Index", "array"])
def test_pandas_computes_with_constants_and_refuses_what_requires_grad(kind):
    pandas = pytest.importorskip("pandas")
    make = getattr(pandas, kind)
    values = np.array([3.0, 4.0])
    table = make(values.reshape(1, 2) if kind == "DataFrame" else values)
    for operation in (operator.mul, operator.add, operator.sub, operator.truediv):
        found = operation(ag.tensor([1.0, 2.0]), table)
        assert type(found) is type(table)
        np.testing.assert_array_equal(np.ravel(found), operation(np.array([1.0, 2.0]), values))
        for tracked in (tensor(), ag.tensor([1.0, 2.0], requires_grad=True)):
            for left, right in ((tracked, table), (table, tracked)):
                with pytest.raises(TypeError):
                    operation(left, right)
            with pytest.raises(TypeError, match="would drop its gradient"):
                operation(tracked, table)


def test_a_column_beside_a_number_that_requires_grad_is_refused():
    pandas = pytest.importorskip("pandas")
    x = ag.tensor(2.0, requires_grad=True)
    for left, right in ((x, pandas.Series([1.0, 2.0])), (pandas.Series([1.0, 2.0]), x)):
        with pytest.raises(TypeError, match="would drop its gradient"):
            left * right


def test_a_gradient_through_a_column_of_constants_by_its_values():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([3.0, 4.0])
    assert ag.grad(lambda x: np.sum(x * column.to_numpy()))(np.ones(2)).tolist() == [3.0, 4.0]
    with pytest.raises(TypeError, match="would drop its gradient"):
        ag.grad(lambda x: np.sum(x * column))(np.ones(2))
