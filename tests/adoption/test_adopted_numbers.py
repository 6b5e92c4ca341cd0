"""Numbers in adopted calls: those of math, cmath, float and complex stay recorded, with the value of the plain call.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import cmath
import collections.abc
import contextlib
import math
import numbers
import statistics

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.asarray([0.45, 1.2, 2.3])
ONE = (
    "acos asin asinh atan atanh cbrt cos cosh degrees erf erfc exp exp2 expm1 fabs gamma lgamma log log10 log1p log2 "
    "radians sin sinh sqrt tan tanh"
).split()
COMPLEX = "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh".split()


def check(f, x=X):
    value, gradient = ag.value_and_grad(f, adopt=True)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, x), rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in ONE if hasattr(math, name)])
def test_function_of_math_is_recorded(name):
    if name in ("erf", "erfc", "gamma", "lgamma"):
        pytest.importorskip("scipy")
    function = getattr(math, name)  # the real one, which the program holds

    check(lambda x: getattr(math, name)(x[0]) * x[1] + function(0.5) * x[2])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.acosh(x[2]),
        lambda x: math.atan2(x[0], x[1]) + math.atan2(x[0], 2.0) + math.atan2(2.0, x[0]),
        lambda x: math.hypot(x[0], x[1], x[2]) + math.hypot(-x[0]) + math.hypot(x[0], 3.0),
        lambda x: math.dist([x[0], 1.0], [x[1], x[2]]),
        lambda x: math.fsum([x[0], 1.0, x[1] * x[2]]) + math.fsum(v * v for v in x),
        lambda x: math.prod([x[0], 2.0, x[1]], start=3.0),
        lambda x: math.pow(x[0], x[1]) + math.pow(x[0], 3) + math.pow(2.0, x[1]),
        lambda x: math.log(x[0], x[2]) + math.log(x[0], 10) + math.log(7.0, x[1]),
        lambda x: math.fmod(x[2], x[0]) + math.fmod(-x[2], 0.7),
        lambda x: math.remainder(x[2], x[0]),
        lambda x: math.copysign(x[0], -2.0) * x[1],
        lambda x: math.ldexp(x[0], 3) + math.frexp(x[1])[0] * math.frexp(x[1])[1],
        lambda x: math.modf(x[2])[0] * x[0] + math.modf(x[2])[1],
        lambda x: math.floor(x[2]) * x[0] + math.ceil(x[1]) * x[1] + math.trunc(x[2]),
        lambda x: x[0] if math.isfinite(x[1]) and not math.isnan(x[0]) and not math.isclose(x[0], x[1]) else x[1],
        lambda x: sum([float(v) for v in x]) + sum(map(float, x)) * float(x[0] * x[1]),
        lambda x: max([float(v) for v in x]) + min(x[0], 2.0) + abs(float(-x[1])),
        lambda x: x[0].item() * float(x[1]),
        lambda x: abs(complex(x[0], x[1])) + abs(complex(x[2])) + abs(complex(1.0, x[2])),
        lambda x: (1j * complex(x[0])).imag,
    ],
)
def test_numbers_stay_recorded(f):
    check(f)


@pytest.mark.parametrize("name", COMPLEX)
def test_function_of_cmath_is_recorded(name):
    check(lambda x: abs(getattr(cmath, name)(complex(x[0], x[1]))))
    check(lambda x: getattr(cmath, name)(x[0]).real)


def test_polar_coordinates_are_recorded():
    check(lambda x: cmath.phase(complex(x[0], x[1])) + cmath.polar(complex(x[1], x[2]))[0])
    check(lambda x: cmath.rect(x[0], x[1]).imag + abs(cmath.sqrt(-x[0])) + cmath.log(complex(x[0], x[1]), 2).real)


def test_second_derivatives_of_numbers():
    def f(x):
        return math.sin(float(x[0]) * x[1]) + math.fmod(x[2], x[0]) ** 2

    exact = ag.hessian(f, adopt=True)(X)
    for i in range(3):
        row = central_differences(lambda x, i=i: ag.grad(f, adopt=True)(x)[i], X)
        np.testing.assert_allclose(exact[i], row, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda t: math.sqrt(t - 5.0), ValueError),
        (lambda t: math.log(t - t), ValueError),
        (lambda t: math.exp(t * 1e4), OverflowError),
        (lambda t: math.acos(t + 1.0), ValueError),
        (lambda t: math.fmod(t, 0.0), ValueError),
        (lambda t: math.pow(t - 1.0, 0.5), ValueError),
        (lambda t: cmath.log(t - t), ValueError),
        (lambda t: float(np.stack([t, t])), TypeError),
        (lambda t: math.sin(t, t), TypeError),
    ],
)
def test_what_the_real_call_raises_is_raised(call, error):
    raised = []

    def f(t):
        try:
            call(t)
        except error as caught:
            raised.append(type(caught))
            return t * 2.0
        return t

    assert ag.grad(f, adopt=True)(0.5) == 2.0
    with pytest.raises(error):
        call(np.float64(0.5))


def test_array_of_one_element_becomes_a_number_where_numpys_does():
    def f(x):
        return float(x[:1]) * x[1]

    try:
        f(X)
    except TypeError as error:  # from NumPy 2.5 on
        with pytest.raises(TypeError, match=str(error)):
            ag.grad(f, adopt=True)(X)
    except DeprecationWarning:
        with pytest.warns(DeprecationWarning, match="scalar"):
            assert ag.grad(f, adopt=True)(X).tolist() == [X[1], X[0], 0.0]


@pytest.mark.parametrize("call", [float, complex, math.sin, cmath.sin, math.fsum])
def test_numbers_of_single_precision_become_doubles(call):
    def f(x):
        return call([x[0]]) if call.__name__ == "fsum" else call(x[0])

    def g(x):
        return f(x).real

    found = ag.grad(g, adopt=True)(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ag.grad(g, adopt=True)(X.astype(np.float32).astype(float)), rtol=1e-6)


def test_what_has_no_slope_gives_plain_values():
    seen = []

    def f(x):
        seen.extend([int(x[2]), round(x[2]), bool(x[0]), bool(x[0] < x[1]), f"{x[0]:.2f}", math.floor(x[2])])
        return x.sum()

    ag.grad(f, adopt=True)(X)
    assert seen == [2, 2, True, True, "0.45", 2]
    assert not any(getattr(value, "requires_grad", False) for value in seen)


def test_constants_become_python_numbers():
    seen = []

    def f(x):
        out = np.zeros(2)
        seen.extend(
            [float(out[0]), math.cos(out[1]), float(ag.stop_gradient(x[0])), float("2.5"), float(3), complex(1)]
        )
        return x.sum()

    ag.grad(f, adopt=True)(X)
    assert seen == [0.0, 1.0, 0.45, 2.5, 3.0, 1 + 0j]
    assert [seen[i].__class__ for i in range(6)] == [float] * 5 + [complex]


def test_types_are_those_of_the_plain_value():
    def plain_and_recorded(x):
        t = x[0]
        return (
            isinstance(x, np.ndarray), isinstance(t, float), isinstance(t, int | float), isinstance(t, np.floating),
            isinstance(t, (list, numbers.Real)), isinstance(t, collections.abc.Iterable), isinstance(x, np.generic),
            type(x) is np.ndarray, type(t) is np.float64, type(t) in (int, float), type(t).__name__, np.isscalar(t),
            np.isscalar(x), hasattr(t, "__len__"), hasattr(x, "__len__"), hasattr(t, "shape"),
            type(np.zeros(2)) is type(x),
            type(np.array(1.0)) is np.ndarray, type(x.sum()) is np.float64, isinstance(x[:1], np.ndarray),
            isinstance(x.astype(complex)[0], complex), isinstance(x.astype(np.float32)[0], float),
        )  # fmt: skip

    found = []
    ag.grad(lambda x: (found.append(plain_and_recorded(x)), x.sum())[1], adopt=True)(X)
    assert found == [plain_and_recorded(X)]


def test_code_that_knows_tensors_finds_them():
    def f(x):
        assert isinstance(x, ag.Tensor)
        assert isinstance(x, (str, ag.Tensor))
        return x.sum()

    ag.grad(f, adopt=True)(X)


def test_float_and_complex_are_types_wherever_one_is_needed():
    def f(x):
        class Celsius(float):
            def kelvin(self):
                return float(self) + 273.0

        class Meta(type):
            pass

        assert Celsius(2.0).kelvin() == 275.0
        assert isinstance(Celsius(2.0), float)
        assert not isinstance(2.0, Celsius)
        assert issubclass(Celsius, float)
        assert issubclass(float, numbers.Real)
        assert isinstance(float, type)
        assert isinstance(Meta("Made", (), {}), Meta)
        assert np.dtype(float) == np.float64
        assert np.zeros(2, dtype=complex).dtype == complex
        assert np.issubdtype(x.dtype, float)
        assert {float: 1}[type(X.item(0))] == 1
        assert type(X.item(0)) in (int, float)
        assert float.fromhex("0x1p1") == 2.0
        assert float in {float}
        match x[0]:
            case float():
                return x.astype(float).sum() + np.arange(3).astype(float).sum()
        return 0.0 * x.sum()

    assert ag.grad(f, adopt=True)(X).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (lambda x: np.random.default_rng(1).beta(x[0], 1.0), "beta"),
        (lambda x: np.ma.array([1.0]).__setitem__(0, x[0]), "numpy"),
        (lambda x: np.float32(x[0]), "float32"),
    ],
)
def test_refusal_that_the_program_catches_is_told_at_the_end(refused, text):
    def f(x):
        try:
            v = refused(x)
        except (TypeError, ValueError):
            v = 0.5
        return v * x[1]

    with pytest.warns(UserWarning, match=f"value_and_grad: 'f' caught what arraygrad refused.*{text}") as told:
        value, gradient = ag.value_and_grad(f, adopt=True)(X)
    assert len(told) == 1
    assert value == 0.5 * X[1]
    assert gradient.tolist() == [0.0, 0.5, 0.0]


def test_refusal_that_an_inner_transform_has_told_is_told_once():
    def inner(y, x):
        try:
            return np.float32(x[0]) * y
        except TypeError:
            return y * y

    with pytest.warns(UserWarning, match="caught what arraygrad refused") as told:
        ag.grad(lambda x: ag.grad(inner)(x[1], x) * x[2], adopt=True)(X)
    assert len(told) == 1


def test_refusal_that_the_program_catches_is_told_for_a_container_too():
    def f(x):
        try:
            np.float32(x[0])
        except TypeError:
            return {"a": x * 2.0, "b": 1.0}

    with pytest.warns(UserWarning, match="caught what arraygrad refused"):
        ag.jacobian(f, adopt=True)(X)


def by_assignment(x):
    try:
        v = float(x[0])  # refused without adoption
    except (TypeError, ValueError):
        v = x[0]
    return v * x[1]


def by_nothing(x):
    v = x[0]
    try:
        v = float(v)
    except Exception:
        pass
    return v * x[1]


def by_another_function(x):
    try:
        return math.exp(x[0]) * x[1]
    except ValueError:
        return 0.0 * x[1]
    except TypeError:
        return np.exp(x[0]) * x[1]


def by_a_loop(x):
    total = 0.0
    for v in x:
        try:
            total += math.sin(v)
        except TypeError:
            total += np.sin(v)
    return total


@pytest.mark.parametrize("f", [by_assignment, by_nothing, by_another_function, by_a_loop])
def test_refusal_after_which_the_program_uses_the_value_itself_is_not_told(f, recwarn):
    one = np.asarray(0.45)
    numbers = {"by_assignment": 2.0, "by_nothing": 2.0, "by_another_function": 2.0 * np.exp(0.45)}
    assert ag.grad(lambda x: f([x, 2.0]))(one) == pytest.approx(numbers.get(f.__name__, np.cos(0.45)))
    assert not recwarn


def by_a_bare_handler(x):
    try:
        return math.exp(x)
    except:  # noqa: E722
        return 1e300


def by_a_branch(x):
    try:
        return math.exp(x)
    except TypeError:
        return 1e300 if x > 0.0 else 0.0


def by_a_call(x):
    try:
        return math.exp(x)
    except TypeError:
        repr(x)
        return 1e300


def by_suppress(x):
    with contextlib.suppress(TypeError):
        return math.exp(x)
    return 1e300


def by_an_outer_handler(x):
    try:
        try:
            return math.exp(x)
        except ValueError:
            return np.exp(x)
    except Exception:
        return 1e300


def by_another_tensor(x):
    y = x * 0.0
    try:
        return math.exp(x) + y
    except TypeError:
        return 1e300 + y


@pytest.mark.parametrize(
    "bounded", [by_another_tensor, by_a_bare_handler, by_a_branch, by_a_call, by_suppress, by_an_outer_handler]
)
def test_refusal_for_which_the_program_takes_a_constant_is_told_though_the_tensor_is_used_elsewhere(bounded):
    with pytest.warns(UserWarning, match="caught what arraygrad refused.*math.exp"):
        value, gradient = ag.value_and_grad(lambda x: x + bounded(x), adopt=False)(0.5)
    assert (value, gradient) == (0.5 + 1e300, 1.0)  # not the plain call's: hence the warning
    value, gradient = ag.value_and_grad(lambda x: x + bounded(x), adopt=True)(0.5)
    assert (value, gradient) == pytest.approx((0.5 + math.exp(0.5), 1.0 + math.exp(0.5)))


def test_refusal_before_one_after_which_the_program_uses_the_value_itself_is_told():
    with pytest.warns(UserWarning, match="caught what arraygrad refused.*math.exp"):
        ag.grad(lambda x: by_a_call(x) + by_a_loop([x]), adopt=False)(0.5)


ASKS = {
    "isinstance(y, np.float64)": lambda y: isinstance(y, np.float64),
    "isinstance(y, np.number)": lambda y: isinstance(y, (np.number, str)),
    "isinstance(y, np.generic)": lambda y: isinstance(y, np.generic),
    "type(y) == np.float64": lambda y: type(y) == np.float64,  # noqa: E721
    "type(y) in (int, np.float64)": lambda y: type(y) in (int, np.float64),
    "np.float64 is type(y)": lambda y: np.float64 is type(y),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(
    "make",
    [
        lambda s, x: s, lambda s, x: math.sin(s), lambda s, x: math.hypot(s, x[0]), lambda s, x: math.fsum([s, 1.0]),
        lambda s, x: math.modf(s)[0], lambda s, x: float(np.array(x[0])), lambda s, x: s * s, lambda s, x: -s,
        lambda s, x: float(s), lambda s, x: x[0], lambda s, x: x.sum(), lambda s, x: x[0] * 2.0,
        lambda s, x: s * x[0], lambda s, x: np.sin(s), lambda s, x: -np.mean(x), lambda s, x: s * 2.0,
        lambda s, x: float(x[0]), lambda s, x: 3 - s / 2, lambda s, x: abs(s) ** 0.5,
        lambda s, x: complex(s, 1.0).imag, lambda s, x: x[0].item(), lambda s, x: x.tolist()[0],
    ],
)  # fmt: skip
def test_float_and_scalar_of_numpy_are_told_apart_where_the_graph_tells(make, ask):
    def f(s, x, found):
        found.append(bool(ask(make(s, x))))
        return s * x.sum()

    plain, adopted = [], []
    f(0.3, X, plain)
    ag.grad(f, argnums=(0, 1), adopt=True)(0.3, X, adopted)
    assert adopted == plain


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(
    "make",
    [
        lambda s, x: s * np.float64(2.0), lambda s, x: np.float64(2.0) - s,
    ],
)  # fmt: skip
def test_float_or_scalar_of_numpy_is_refused_where_the_graph_does_not_tell(make, ask):
    with pytest.raises(TypeError, match=r"between a Python float and a scalar of NumPy's.*isinstance\(x, float"):
        ag.grad(lambda s, x: s * (2.0 if ask(make(s, x)) else 5.0), argnums=(0, 1), adopt=True)(0.3, X)
    assert ag.grad(lambda s: (2 if isinstance(s * 2.0, (float, np.floating)) else 5) * s, adopt=True)(0.3) == 2.0
    assert ag.grad(lambda s: (2 if type(s * 2.0) is np.ndarray else 5) * s, adopt=True)(0.3) == 5.0


def _normal(x, name, *args):
    return getattr(statistics.NormalDist(x, 2.0 * x), name)(*args)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: NORMAL.cdf(x),
        lambda x: NORMAL.pdf(x),
        lambda x: _normal(x, "cdf", 0.7),
        lambda x: _normal(x, "pdf", 0.7),
        lambda x: _normal(x, "zscore", 0.3),
        lambda x: _normal(x, "overlap", NORMAL),
        lambda x: (statistics.NormalDist(x, 2.0) + NORMAL).mean + (NORMAL * x).variance,
        lambda x: statistics.fmean([x, 2.0, x * x]),
        lambda x: statistics.fmean([x, 2.0, x * x], weights=[1.0, x, 2.0]),
        lambda x: statistics.geometric_mean([x, 2.0, x * x]),
        lambda x: statistics.correlation([x, 2.0, x * x], [1.0, 2.0, 4.0]),
        lambda x: statistics.linear_regression([x, 2.0, x * x], [1.0, 2.0, 4.0]).slope,
        lambda x: statistics.covariance([x, 2.0, x * x], [1.0, 2.0, 4.0]),
        lambda x: statistics.median([x, 2.0, x * x]),
    ],
)
def test_statistics_of_pythons_library_are_recorded(f):
    kept = dict(vars(statistics))
    got = ag.grad(f)(1.3)
    assert all(vars(statistics)[name] is value for name, value in kept.items())
    assert got == pytest.approx((f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, rel=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: NORMAL.inv_cdf(x / 3.0),
        lambda x: statistics.mean([x, 2.0]),
        lambda x: statistics.stdev([x, 2.0, x * x]),
        lambda x: statistics.harmonic_mean([x, 2.0]),
    ],
)
def test_statistics_that_count_in_fractions_or_are_compiled_are_refused(f):
    with pytest.raises(TypeError, match="which no gradient reaches"):
        ag.grad(f)(1.3)


NORMAL = statistics.NormalDist(1.0, 2.0)
