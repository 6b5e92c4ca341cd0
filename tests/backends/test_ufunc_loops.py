"""Loops of ufuncs that are called directly whatever their operands' types (backends/numpy/ufunc_loops.pyx)."""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain, unaligned

import arraygrad as ag
from arraygrad import special
from arraygrad.backends.numpy.direct import UFUNCS, holds_nowhere, is_moderate
from arraygrad.backends.numpy.table import SCIPY
from arraygrad.backends.numpy.ufunc_loops import call, dtypes_of

scipy_special = pytest.importorskip("scipy.special")

VALUES = np.array([0.0, -0.0, 1e-310, 5e-324, 0.3, -0.3, 1.0, 2.0, -2.0, 7.5, 100.0, 3e38, np.inf, -np.inf, np.nan])
NAMES = sorted(n for n in UFUNCS | SCIPY if isinstance(getattr(scipy_special, n, None), np.ufunc))
NUMPYS = ("modf", "frexp", "divmod", "ldexp")
ALL = [getattr(scipy_special, n) for n in NAMES] + [getattr(np, n) for n in NUMPYS]
DTYPES = ("float32", "float64")


def operands_of(ufunc, dtype, shape):
    """Arrays with which a ufunc can be called: whole numbers but for the last one, or all but the first of ldexp."""
    rng = np.random.default_rng(7)
    last = rng.uniform(0.1, 0.9, shape).astype(dtype)
    if ufunc is np.ldexp:
        return last, rng.integers(-3, 4, shape).astype(np.int32)
    return tuple([rng.integers(1, 4, shape).astype(dtype) for _ in range(ufunc.nin - 1)] + [last])


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def assert_same(got, expected, strides=True):
    assert got is not None
    for a, b in zip(parts(got), parts(expected), strict=True):
        b = np.asarray(b)
        assert type(a) is np.ndarray
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
        assert not strides or a.strides == b.strides


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", ALL, ids=lambda u: u.__name__)
def test_a_loop_gives_the_ufuncs_values_dtype_and_layout(ufunc, dtype):
    for shape in ((), (1,), (7,), (3, 5), (2, 3, 4), (0, 3), (700,)):
        given = operands_of(ufunc, dtype, shape)
        assert_same(call(ufunc, *given), ufunc(*given), strides=0 not in shape)
        if len(shape) > 1:
            columns = [np.asfortranarray(a) for a in given]
            assert_same(call(ufunc, *columns), ufunc(*columns), strides=0 not in shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", [u for u in ALL if u.nin > 1], ids=lambda u: u.__name__)
def test_single_elements_and_numbers_stand_for_all(ufunc, dtype):
    given = operands_of(ufunc, dtype, (3, 5))
    for i in range(ufunc.nin):
        for one in (given[i][:1, :1].copy(), given[i][0, :1].copy(), np.array(given[i][0, 0])):
            few = (*given[:i], one, *given[i + 1 :])
            assert_same(call(ufunc, *few), ufunc(*few))
        if ufunc is not np.ldexp or i == 1:  # a number is of the array's dtype
            assert_same(call(ufunc, *given[:i], one.item(), *given[i + 1 :]), ufunc(*few))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", ALL, ids=lambda u: u.__name__)
def test_errors_are_those_of_the_ufunc(ufunc, dtype):
    for value in VALUES:
        with np.errstate(all="ignore"):
            number = value.astype(dtype)
        given = [np.full(3, 2, np.int32) if ufunc is np.ldexp and i else np.full(3, number) for i in range(ufunc.nin)]
        if ufunc.__name__ in ("kn", "yn", "expn"):
            given[0] = np.full(3, 2.0, dtype)
        told = []
        for run in (call, lambda f, *x: f(*x)):
            with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn"):
                warnings.simplefilter("always")
                result = run(ufunc, *given)
            told.append((sorted({str(w.message) for w in seen}), [a.tobytes() for a in parts(result)]))
        assert told[0] == told[1], value


@pytest.mark.parametrize(
    "operands",
    [
        (np.ones((40, 30)), np.ones((40, 30), order="F")),
        (np.ones(6)[::2], np.ones(3)),
        (np.ones(3), np.ones((2, 3))),
        (np.ones(3), np.ones(3, np.float32)),
        (np.ones(3), np.ones(3, ">f8")),
        (np.ones(3), unaligned(np.ones(3))),
        (np.ones(3), np.ones(3).view(np.recarray)),
        (np.ones(3), np.ones(3, complex)),
        (np.ones(3), np.ones(3, np.float16)),
        (np.ones(3), np.float64(1.0)),
        (np.ones(3), True),
        (np.ones(3), 1j),
        (np.ones(3), None),
        (np.ones(3), 10**400),
        (np.ones(3, np.float32), 1e300),
        (np.ones(1), np.ones((0, 3))),
        (1.0, 2.0),
    ],
    ids=range(17),
)
def test_other_operands_are_declined(operands):
    assert call(scipy_special.beta, *operands) is None
    assert call(scipy_special.beta, *reversed(operands)) is None


def test_integers_that_do_not_fit_are_declined():
    assert call(np.ldexp, np.ones(3), 2**40) is None
    assert call(np.ldexp, np.ones(3), 2.0) is None
    assert call(np.ldexp, np.ones(3), np.ones(3, np.int16)) is None


def test_a_loop_that_gives_something_else_is_not_used():
    assert sorted(dtypes_of(scipy_special.beta)) == ["dd", "ff"]
    assert dtypes_of(scipy_special.beta, scipy_special.betaln) == []


def test_what_is_no_plain_ufunc_has_no_loops():
    assert dtypes_of(np.matmul) == dtypes_of(np.sort) == dtypes_of(scipy_special.hyp2f1) == []


def test_what_a_loop_raises_is_raised():
    x = np.zeros(3)
    with scipy_special.errstate(all="raise"), pytest.raises(scipy_special.SpecialFunctionError):
        call(scipy_special.gammaln, x)
    order = np.array([1.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="truncated"):
            call(scipy_special.kn, order, order)
    assert_same(call(scipy_special.kn, 1.0, x + 1.0), scipy_special.kn(1, x + 1.0))


# -- functions of Python in SciPy --------------------------------------------------------------------------------------


def result_and_gradient(f, x):
    t = ag.tensor(x, requires_grad=True)
    out = f(t)
    out.sum().backward()
    return out.numpy() if not out.requires_grad else out.detach().numpy(), t.grad.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_polygamma_is_scipys_bit_by_bit(n, dtype):
    for x in (
        np.linspace(0.1, 40.0, 12).reshape(3, 4).astype(dtype),
        VALUES.astype(dtype),
        np.asfortranarray(np.eye(3)),
    ):
        special.polygamma(n, x)
        got, slope = result_and_gradient(lambda t: special.polygamma(n, t), x)
        expected = scipy_special.polygamma(n, x)
        assert got.tobytes() == np.asarray(expected).astype(x.dtype).tobytes()
        assert (
            slope.tobytes() == plain(lambda x=x: result_and_gradient(lambda t: special.polygamma(n, t), x))[1].tobytes()
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeta_is_scipys_bit_by_bit(dtype):
    q = np.linspace(0.1, 40.0, 12).reshape(3, 4).astype(dtype)
    for s in (2.5, 3, q + 1, q[0] + 1, q[:1, :1] + 1):
        special.zeta(s, q)
        got, slope = result_and_gradient(lambda t, s=s: special.zeta(s, t), q)
        expected = plain(lambda s=s: result_and_gradient(lambda t: special.zeta(s, t), q))
        assert got.tobytes() == expected[0].tobytes()
        assert slope.tobytes() == expected[1].tobytes()
    np.testing.assert_array_equal(special.zeta(q + 1).numpy(), scipy_special.zeta(q + 1, np.ones(1, dtype)))


# -- Bessel functions of one neighbour ---------------------------------------------------------------------------------

BESSEL = {
    "jv": lambda v, x: 0.5 * (scipy_special.jv(v - 1, x) - scipy_special.jv(v + 1, x)),
    "yv": lambda v, x: 0.5 * (scipy_special.yv(v - 1, x) - scipy_special.yv(v + 1, x)),
    "iv": lambda v, x: 0.5 * (scipy_special.iv(v - 1, x) + scipy_special.iv(v + 1, x)),
    "kv": lambda v, x: -0.5 * (scipy_special.kv(v - 1, x) + scipy_special.kv(v + 1, x)),
    "yn": lambda v, x: 0.5 * (scipy_special.yn(v - 1, x) - scipy_special.yn(v + 1, x)),
    "kn": lambda v, x: -0.5 * (scipy_special.kv(v - 1, x) + scipy_special.kv(v + 1, x)),
}


@pytest.mark.parametrize("v", [0, 1, 2, 5, -1, -3, 0.3, 1.5, 12.25, -0.7, -4.5])
@pytest.mark.parametrize("name", BESSEL)
def test_derivatives_by_one_neighbour_are_those_by_two(name, v):
    if (name in ("yn", "kn") and v != int(v)) or (name == "kn" and v < 0):
        pytest.skip("no such order")
    x = np.concatenate([np.geomspace(1e-6, 1.0, 20), np.linspace(1.0, 40.0, 50)])
    expected = BESSEL[name](v, x)
    got, slope = result_and_gradient(lambda t: getattr(special, name)(v, t), x)
    # Near a zero of the derivative both lose what their terms cancel.
    scale = np.maximum(np.abs(expected), 0.1 * np.abs(got))
    np.testing.assert_array_less(np.abs(slope - expected), 2e-13 * scale + 1e-300)


@pytest.mark.parametrize("bad", [0.0, 1e-200, np.inf, np.nan, 1e200])
@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arrays_with_extreme_elements_keep_both_neighbours(name, bad):
    x = np.array([0.5, bad, 3.0])
    _, slope = result_and_gradient(lambda t: getattr(special, name)(2, t), x)
    np.testing.assert_allclose(slope, BESSEL[name](2, x), rtol=1e-14)


@pytest.mark.parametrize("name", ["j1", "i1", "i0e", "i1e", "k0e", "k1e"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_do_not_depend_on_the_other_elements(name):
    x = np.array([0.2, 1.0, 7.0, 30.0])
    alone = [result_and_gradient(getattr(special, name), x[i : i + 1])[1][0] for i in range(len(x))]
    together = result_and_gradient(getattr(special, name), np.append(x, [80.0, np.inf, 0.0]))[1][: len(x)]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_a_mask_is_asked_whether_it_holds_anywhere():
    for shape in ((), (5,), (3, 4), (0,)):
        assert holds_nowhere(np.zeros(shape, bool))
    mask = np.zeros((4, 6), bool)
    mask[3, 5] = True
    for layout in (mask, mask.T, mask[::3, 5::-1]):
        assert not holds_nowhere(layout)
    assert holds_nowhere(mask[::2])
    assert not holds_nowhere(np.ones(3) > 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moderate_arrays_hold_nothing_next_to_zero_or_overflow(dtype):
    x = np.linspace(-3.0, 5.0, 14).reshape(2, 7).astype(dtype)
    for layout in (x, x.T, x[:, ::2]):
        assert is_moderate(layout)
    for bad in (0.0, -0.0, 1e-30 if dtype == "float32" else 1e-200, np.inf, -np.inf, np.nan):
        x[1, 2] = bad
        for layout in (x, x.T, x[:, ::2]):
            assert not is_moderate(layout)
    assert is_moderate(np.ones((), dtype))
    assert not is_moderate(np.ones(3, complex))
    assert not is_moderate(np.ones(3, int))
