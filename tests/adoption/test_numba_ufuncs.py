"""What numba.vectorize, numba.guvectorize and numba.cfunc make, in adopted calls: recorded, run on arrays, refused.

The class: how it is made (with signatures, without) x what it computes (branches, functions of math, a function that is
compiled) x how it is called (arrays, numbers, broadcast, out=) x whether an argument requires grad.
"""

import math

import numpy as np
import pytest

import arraygrad as ag

numba = pytest.importorskip("numba", reason="Numba is not installed: there is nothing to compile")

pytestmark = pytest.mark.filterwarnings("ignore:.*is a function that Numba compiles")

X = np.array([0.5, 1.5, 2.5])


@numba.njit
def inner(x):
    return math.exp(-x)


def branch(x, y):
    return x * y if x > 1.0 else y * y


def of_math(x, y):
    return math.sin(x) * math.exp(y)


def of_inner(x, y):
    return inner(x) + x * y


FUNCTIONS = {"branch": branch, "math": of_math, "inner": of_inner}
MAKERS = {
    "lazy": numba.vectorize,
    "signatures": numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"]),
}
CALLS = {
    "arrays": lambda f, x: f(x, x[::-1]),
    "a number": lambda f, x: f(x, 0.7),
    "an element": lambda f, x: f(x, x[1]),
    "numbers": lambda f, x: f(x[0], 1.5) + f(x[2], x[1]),
    "broadcast": lambda f, x: f(x[:, None], x),
    "out": lambda f, x: _into(f, x),
    "constants": lambda f, x: f(np.arange(1.0, 4.0), np.ones(3)) * x,
    "list": lambda f, x: f(x, [0.3, 0.4, 0.5]),
}


def _into(f, x):
    out = np.zeros(3)
    made = f(x, x, out)
    assert made is out
    out[0] *= x[1]
    return out


def slopes(run, x, h=1e-5):
    return [(run(x + h * d) - run(x - h * d)) / (2 * h) for d in np.eye(x.size)]


@pytest.fixture(scope="module")
def compiled():
    return {(maker, name): MAKERS[maker](function) for maker in MAKERS for name, function in FUNCTIONS.items()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("maker", MAKERS)
def test_vectorized(compiled, maker, name, call):
    f = compiled[maker, name]
    if call == "list":
        f(X, X)  # Numba takes a list only for types that it has compiled

    def run(x):
        return (CALLS[call](f, x) ** 2).sum()

    value, found = ag.value_and_grad(run, adopt=True)(X)  # first: what is compiled now keeps no stand-in
    np.testing.assert_allclose(value, run(X), rtol=1e-13)
    np.testing.assert_allclose(found, slopes(run, X), rtol=1e-6, atol=1e-8)
    assert isinstance(f(X, X), np.ndarray)


def test_dtypes():
    f = MAKERS["signatures"](branch)

    def run(x):
        made = f(x, x)
        assert made.dtype == np.float32
        return made.sum()

    assert ag.grad(run, adopt=True)(X.astype(np.float32)).dtype == np.float32


def test_second_derivatives():
    f = numba.vectorize(of_math)
    run = lambda x: f(x, x).sum()
    d, h, first = np.array([1.0, -0.5, 0.3]), 1e-5, ag.grad(run, adopt=True)
    found = ag.hvp(run, adopt=True)(X, d)
    np.testing.assert_allclose(found, (first(X + h * d) - first(X - h * d)) / (2 * h), rtol=1e-6)


def test_the_price_is_told_once():
    f = numba.vectorize(branch)
    run = lambda x: f(x, x).sum() + f(x, x).sum()
    with pytest.warns(UserWarning, match="branch is a function that Numba compiles"):
        ag.grad(run, adopt=True)(X)


def scaled(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * y if x[i] > 1.0 else math.exp(x[i])


def scaled_by_array(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * y[0]


def summed(x, y, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    out[0] = total


def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0.0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


def two(x, largest, total):
    largest[0], total[0] = x[0], 0.0
    for i in range(x.shape[0]):
        largest[0] = max(largest[0], x[i])
        total[0] += x[i] ** 2


D, F = numba.float64, numba.float64[:]
PARTS = {
    "scaled": (scaled, [(F, D, F)], "(n),()->(n)", lambda f, x: f(x, x[1])),
    "scaled rows": (scaled, [(F, D, F)], "(n),()->(n)", lambda f, x: f(x[:, None] * x, x)),
    "scaled by arrays": (scaled_by_array, [(F, F, F)], "(n),()->(n)", lambda f, x: f(x[:, None] * x, x)),
    "summed": (summed, [(F, F, F)], "(n),(n)->()", lambda f, x: f(x, x * x)),
    "summed rows": (summed, [(F, F, F)], "(n),(n)->()", lambda f, x: f(x[:, None] * x, x)),
    "product": (
        product,
        [(D[:, :], D[:, :], D[:, :])],
        "(m,n),(n,p)->(m,p)",
        lambda f, x: f(x[:, None] * x, x[:, None]),
    ),
    "two results": (two, [(F, F, F)], "(n)->(),()", lambda f, x: sum(f(x[:, None] * x))),
    "written": (scaled, [(F, D, F)], "(n),()->(n)", lambda f, x: _written(f, x)),
    "constants": (scaled, [(F, D, F)], "(n),()->(n)", lambda f, x: f(np.arange(3.0), 2.0) * x),
}


def _written(f, x):
    out = np.zeros(3)
    f(x, 2.0, out)
    return out


@pytest.mark.parametrize("name", PARTS)
def test_of_parts(name):
    function, types, signature, call = PARTS[name]
    f = numba.guvectorize(types, signature)(function)

    def run(x):
        return (call(f, x) ** 2).sum()

    value, found = ag.value_and_grad(run, adopt=True)(X)
    np.testing.assert_allclose(value, run(X), rtol=1e-13)
    np.testing.assert_allclose(found, slopes(run, X), rtol=1e-6, atol=1e-8)


def test_of_parts_without_signatures():
    f = numba.guvectorize("(n),()->(n)")(scaled)

    def run(x):
        out = np.zeros(3)
        f(x, x[2], out)
        return (out**2).sum()

    value, found = ag.value_and_grad(run, adopt=True)(X)
    np.testing.assert_allclose(value, run(X), rtol=1e-13)
    np.testing.assert_allclose(found, slopes(run, X), rtol=1e-6, atol=1e-8)


def test_keywords_are_refused():
    f = numba.vectorize(branch)
    with pytest.raises(TypeError, match="without keywords, but got where"):
        ag.grad(lambda x: f(x, x, where=np.array([True, False, True])).sum(), adopt=True)(X)


def test_a_callback_runs_as_python_and_its_compiled_form_takes_numbers():
    c = numba.cfunc("float64(float64)")(lambda x: x * math.exp(x))
    run = lambda x: c(x[0]) * x[1]
    np.testing.assert_allclose(ag.grad(run, adopt=True)(X), slopes(run, X), rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match=r"call .* itself, which runs as Python"):
        ag.grad(lambda x: c.ctypes(x[0]), adopt=True)(X)
    found = ag.grad(lambda x: c.ctypes(ag.stop_gradient(x[0]).item()) * x[1], adopt=True)(X)
    np.testing.assert_allclose(found, [0.0, 0.5 * math.exp(0.5), 0.0])


def test_plain_adopted_plain():
    f = numba.vectorize(of_math)
    before = f(X, X)

    def fails(x):
        f(x, x)
        raise KeyError

    with pytest.raises(KeyError):
        ag.grad(fails, adopt=True)(X)
    np.testing.assert_array_equal(f(X, X), before)
    assert f(X.astype(np.float32), X).dtype == np.float64  # compiled for other types now
    ag.adopt.clear()
    np.testing.assert_array_equal(f(X, X), before)


def square(x):
    return x * math.exp(x)


HELD = (numba.vectorize(square), numba.vectorize(["float64(float64)"])(square))


class Holder:
    held = HELD[0]


HELD_BY = {
    "tuple": lambda x: HELD[0](x).sum(),
    "tuple, with signatures": lambda x: HELD[1](2.0 * x).sum(),
    "class": lambda x: Holder.held(x).sum() + Holder().held(x[0]),
    "made in the call": lambda x: numba.vectorize(square)(x).sum(),
}


@pytest.mark.parametrize("f", HELD_BY.values(), ids=HELD_BY)
def test_no_name_has_to_hold_a_ufunc(f):
    value, found = ag.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    for i, step in enumerate(1e-6 * np.eye(3)):
        assert found[i] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-6)
    with ag.set_adoption(False), pytest.raises(TypeError, match="not differentiated"):
        ag.grad(f)(X)


def test_ufuncs_that_call_ufuncs_are_compiled_over_the_real_things(program):
    main = program(
        main="""
        import math
        import numba
        def inner(x): return math.log(x) * x
        def outer(x, y): return math.pow(x, 2.0) + inner(y)
        inner = numba.vectorize(inner)
        outer = numba.vectorize(outer)
        def f(x): return outer(x, 2.0 * x)
    """
    )
    assert ag.grad(main.f)(0.7) == pytest.approx(2 * 0.7 + 2 * (math.log(1.4) + 1.0))
    assert main.f(0.7) == pytest.approx(0.49 + 1.4 * math.log(1.4))
