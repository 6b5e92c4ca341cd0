"""Forward values where libraries differ from the standard: what the entries' own forward functions repair."""

import cmath
import math

import array_api_strict
import numpy as np
import pytest
from samples._case import real

import arraygrad as ag
import arraygrad.array_api_strict as strict
import arraygrad.numpy as xp

INF = math.inf
NAN = math.nan

pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow):RuntimeWarning")


def same(a, b):
    """Equal as complex numbers: nan is nan, and the signs of zeros count."""

    def part(p, q):
        return (math.isnan(p) and math.isnan(q)) or (p == q and math.copysign(1, p) == math.copysign(1, q))

    return part(a.real, b.real) and part(a.imag, b.imag)


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        (INF, 2.0, INF),
        (INF, -2.0, -INF),
        (-INF, 2.0, -INF),
        (-INF, -2.0, INF),
        (3.0, -INF, -0.0),
        (-3.0, INF, -0.0),
        (3.0, INF, 0.0),
        (7.0, 2.0, 3.0),
        (-7.0, 2.0, -4.0),
    ],
)
@pytest.mark.parametrize("namespace", [xp, strict])
def test_floor_divide_with_an_infinity_is_the_quotient(namespace, x1, x2, expected):
    a, b = namespace.asarray([x1]), namespace.asarray([x2])
    for result in (namespace.floor_divide(a, b), namespace.floor_divide(a, x2), namespace.floor_divide(x1, b)):
        value = float(result[0])
        assert value == expected
        assert math.copysign(1, value) == math.copysign(1, expected)


def test_floor_divide_of_two_infinities_is_nan():
    assert math.isnan(float(xp.floor_divide(xp.asarray(INF), INF)))


def test_floor_divide_of_integers_is_an_integer():
    result = xp.floor_divide(xp.asarray([7, -7]), 2)
    assert result.dtype == xp.int64
    assert result.tolist() == [3, -4]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (complex(0.0, 0.0), 0j),
        (complex(-0.0, 0.0), 0j),
        (complex(-0.0, -0.0), complex(0.0, -0.0)),
        (complex(INF, 0.0), complex(INF, 0.0)),
        (complex(INF, -0.0), complex(INF, -0.0)),
        (complex(-INF, INF), complex(-1.0, 0.0)),
        (complex(-INF, NAN), complex(-1.0, 0.0)),
        (complex(INF, INF), complex(INF, NAN)),
        (complex(INF, NAN), complex(INF, NAN)),
        (complex(NAN, 0.0), complex(NAN, 0.0)),
        (complex(0.5, 0.25), cmath.exp(0.5 + 0.25j) - 1),
    ],
)
@pytest.mark.parametrize("namespace", [xp, strict])
def test_complex_expm1_follows_the_standards_special_cases(namespace, x, expected):
    value = complex(namespace.expm1(namespace.asarray([x, 1.0 + 1.0j]))[0])
    assert same(value, expected) or abs(value - expected) < 1e-15


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (complex(INF, 2.0), complex(1.0, 0.0)),
        (complex(INF, -2.0), complex(1.0, -0.0)),
        (complex(-INF, 2.0), complex(-1.0, 0.0)),
        (complex(INF, INF), complex(1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("namespace", [xp, strict])
def test_complex_tanh_follows_the_standards_special_cases(namespace, x, expected):
    assert same(complex(namespace.tanh(namespace.asarray([x, 1.0 + 1.0j]))[0]), expected)


@pytest.mark.parametrize("re", [0.0, -0.0])
@pytest.mark.parametrize("im", [0.0, -0.0])
def test_sign_of_a_complex_zero_is_zero(re, im):
    assert same(complex(xp.sign(xp.asarray(complex(re, im)))), 0j)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_finfo_holds_python_numbers(dtype):
    for argument in (dtype, np.dtype(dtype), xp.zeros(1, dtype=dtype)):
        info = xp.finfo(argument)
        assert type(info.bits) is int
        assert all(type(v) is float for v in (info.eps, info.max, info.min, info.smallest_normal))
        assert info.eps == float(np.finfo(dtype).eps)


def test_iinfo_holds_python_numbers():
    for argument in (np.int8, xp.zeros(1, dtype=xp.int8)):
        info = xp.iinfo(argument)
        assert (info.bits, info.min, info.max) == (8, -128, 127)
        assert type(info.max) is int


def test_real_eigenvalues_of_a_real_matrix_are_complex():
    x = xp.asarray([[2.0, 1.0], [0.0, 3.0]])
    values, vectors = xp.linalg.eig(x)
    assert values.dtype == vectors.dtype == xp.linalg.eigvals(x).dtype == xp.complex128
    assert xp.linalg.eigvals(xp.astype(x, xp.float32)).dtype == xp.complex64


def test_unique_values_are_in_the_order_of_unique_all():
    x = xp.asarray(real(40))
    assert xp.unique_values(x).tolist() == xp.unique_all(x).values.tolist()


def test_full_of_a_tensor_owns_its_memory():
    value = ag.tensor(1.5, requires_grad=True)
    filled = xp.full((2, 2), value)
    filled[0, 0] = 3.0
    assert filled.tolist() == [[3.0, 1.5], [1.5, 1.5]]


def test_scatter_add_of_every_library_is_that_of_numpy():
    """The fallback in the standard's functions alone, against add.at: repeated, negative and missing places."""
    rng = np.random.default_rng(0)
    indices = rng.integers(-7, 7, size=200)
    x, values = rng.normal(size=(7, 3)), rng.normal(size=(200, 3))
    found = []
    for make in (np.asarray, array_api_strict.asarray):
        leaf = ag.tensor(make(x), requires_grad=True)
        namespace = leaf.__array_namespace__()
        y = namespace.sum(namespace.take(leaf, ag.asarray(make(indices)), axis=0) * ag.asarray(make(values)))
        y.backward()
        found.append(leaf.grad.numpy())
    expected = np.zeros((7, 3))
    np.add.at(expected, indices, values)
    for gradient in found:
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
