"""The class of ufuncs that numpy.frompyfunc makes: their methods, repeated indices, masks, both precisions, complex.

The reference is the same call on plain arrays, and differences of it. Elements are Python's numbers there, which have
double precision; `at` writes into the array, whatever its dtype.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag

FUNCTIONS = {
    "sum": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / b,
    "difference": lambda a, b: a - b,
    "mixed": lambda a, b: a * a + 3.0 * b,
    "chosen": lambda a, b: a if a.real > b.real else b,
}
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
INDICES = {
    "one": 1, "last": -1, "list": [0, 2], "repeated": [1, 1, 0, 1], "array": np.array([2, -3]), "slice": slice(0, 2),
    "mask": np.array([True, False, True, False]), "none": np.zeros(0, int), "all": slice(None), "dots": ...,
}  # fmt: skip


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.uniform(0.6, 1.6, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    return (found + 1j * rng.uniform(0.2, 0.8, size=shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def flat(result):
    """The elements of a result as one vector: Tensors, objects or numbers."""
    result = result.numpy() if isinstance(result, ag.Tensor) else result
    elements = np.asarray(result, dtype=object).reshape(-1)
    return np.array([complex(e.detach() if isinstance(e, ag.Tensor) else e) for e in elements])


def objective(result, weights):
    total = 0.0
    parts = list(result.reshape(-1)) if isinstance(result, (np.ndarray, ag.Tensor)) else [result]
    for part, w in zip(parts, weights, strict=True):
        product = part * w
        total = total + (product.real if np.iscomplexobj(w) else product)
    return total


def holds(f, x, exact=True):
    """Values, and the gradient along directions, of a function of one array."""
    plain = f(x.copy())
    value = ag.adopt(f)(ag.tensor(x, requires_grad=True))
    expected = flat(plain)
    low = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) < 8
    np.testing.assert_allclose(flat(value), expected, rtol=1e-6 if low else 1e-12)
    if isinstance(plain, np.ndarray) and plain.dtype != object:
        assert value.dtype == plain.dtype
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    weights = [1.0 + 0.1 * i + (0.3j if x.dtype.kind == "c" else 0.0) for i in range(expected.size)]
    if not weights:
        return
    whole = lambda x: objective(f(x), weights) + np.sum((x * np.conj(x)).real)  # it depends on x whatever f chooses
    gradient = ag.grad(whole)(x)
    assert gradient.dtype == x.dtype
    step = 1e-6
    for d in (np.ones(x.shape), np.linspace(-1.0, 1.0, x.size).reshape(x.shape)):
        for way in (d, 1j * d) if x.dtype.kind == "c" else (d,):
            slope = (whole(wide + step * way) - whole(wide - step * way)) / (2 * step)
            found = np.sum((np.conj(way) * gradient).real)
            np.testing.assert_allclose(found, float(np.real(slope)), rtol=2e-4 if low else 1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_at_writes_into_the_array(name, indices, dtype):
    ufunc, key = np.frompyfunc(FUNCTIONS[name], 2, 1), INDICES[indices]
    other = numbers((), dtype, 3).item()
    rows = numbers(np.shape(numbers(4, dtype)[key]), dtype, 4)

    def by_a_number(x):
        y = x * 1
        ufunc.at(y, key, other)
        return y

    def by_an_array(x):
        y = x.copy()
        ufunc.at(y, key, rows)
        return y

    def of_zeros(x):
        y = np.zeros(4, x.dtype) + other
        ufunc.at(y, key, x[: rows.size].reshape(rows.shape))
        return y

    for f in (by_a_number, by_an_array, of_zeros)[: 3 if rows.size else 2]:
        holds(f, numbers(4, dtype))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_reductions(name, dtype, axis):
    ufunc, x = np.frompyfunc(FUNCTIONS[name], 2, 1), numbers((3, 2), dtype)
    start = numbers((), dtype, 5).item()
    keep = np.array([[True, False], [True, True], [False, True]])
    for f in (
        lambda x: ufunc.reduce(x, axis=axis),
        lambda x: ufunc.reduce(x, axis=axis, keepdims=True),
        lambda x: ufunc.reduce(x, axis=axis, initial=start),
        lambda x: ufunc.reduce(x, axis=axis, initial=start, where=keep),
        lambda x: ufunc.accumulate(x, axis=axis),
        lambda x: ufunc.reduceat(x, [0, 1], axis=axis),
    ):
        holds(f, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_and_outer_products(name, dtype):
    ufunc, x, y = np.frompyfunc(FUNCTIONS[name], 2, 1), numbers((3, 2), dtype), numbers(2, dtype, 6)
    for f in (lambda x: ufunc(x, y), lambda x: ufunc(y, x), lambda x: ufunc.outer(x, y), lambda x: ufunc.outer(y, x)):
        holds(f, x)


def test_elements_have_the_precision_of_pythons_numbers():
    x = numbers(5, np.float32)
    ufunc = np.frompyfunc(lambda a, b: a * b, 2, 1)
    assert float(ag.adopt(ufunc.reduce)(ag.tensor(x, requires_grad=True)).detach()) == ufunc.reduce(x)


def test_an_array_that_records_nothing_is_refused():
    held = np.zeros(3)
    ufunc = np.frompyfunc(lambda a, b: a + b, 2, 1)
    with pytest.raises(TypeError, match=r"can't be written|gradient"):
        ufunc.at(held, [0, 1], ag.tensor(np.ones(2), requires_grad=True))


def test_members():
    assert len(list(itertools.product(FUNCTIONS, INDICES, DTYPES))) * 3 + len(FUNCTIONS) * len(DTYPES) * 22 > 1200
