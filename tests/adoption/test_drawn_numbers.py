"""Numbers that NumPy's generators draw, by parameters that are differentiated: against differences of the program."""

import linecache

import numpy as np
import pytest

import arraygrad as ag

# How a program draws: what it starts a generator with, and how it calls the method.
GENERATORS = {
    "generator": ("rng = np.random.default_rng(7)", "rng."),
    "attribute": ("class H: pass\n    h = H()\n    h.rng = np.random.default_rng(7)", "h.rng."),
    "state": ("rng = np.random.RandomState(7)", "rng."),
    "module": ("np.random.seed(7)", "np.random."),
    "module by name": ("np.random.seed(7)", "random."),
    "function": ("np.random.seed(7)", ""),
}
# Laws -> the parameters by a, b > 0 of one element each.
LAWS = {
    "normal": ("a, b", "a", "0.5, b", "scale=b", "loc=a, scale=b", "a * np.ones(4), b", "[a, b, 1.0, a], 2.0"),
    "laplace": ("a, b", "scale=b", "a * np.ones(4), b"),
    "logistic": ("a, b", "loc=a"),
    "gumbel": ("a, b", "0.0, b"),
    "uniform": ("a, a + b", "0.0, b", "high=a + 3.0", "a * np.ones(4), 9.0"),
    "exponential": ("a", "scale=b * np.ones(4)"),
    "rayleigh": ("a",),
    "lognormal": ("a, b", "sigma=b"),
    "gamma": ("2.0, b", "shape=0.5, scale=a", "[1.0, 2.0, 3.0, 4.0], b"),
    "weibull": ("a", "a * np.ones(4)"),
    "pareto": ("a + 2.0",),
    "triangular": ("a, a + b, a + 3 * b", "0.0, b, 9.0"),
}
SIZES = {"none": "", "number": ", size=4", "tuple": ", size=(3, 4)", "empty": ", size=(0, 4)"}
X = np.array([0.8, 1.3])


def program(text):
    text = f"import numpy as np\nfrom numpy import random\nfrom numpy.random import {', '.join(LAWS)}\n{text}"
    names = {"__name__": "drawing"}
    file = f"drawing_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


def differences(f, x, step=1e-6):
    steps = np.eye(x.size) * step
    return np.array([(f(x + one) - f(x - one)) / (2 * step) for one in steps])


def hold(f, x=X):
    value, gradient = ag.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-6, atol=1e-6)


@pytest.fixture(autouse=True)
def _forget():
    yield
    ag.adopt.clear()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("way", GENERATORS)
def test_parameters_have_the_derivatives_of_the_plain_program(way, law, size):
    start, call = GENERATORS[way]
    for given in LAWS[law]:
        # The number that is drawn next shows that the stream is where the plain program has it.
        hold(
            program(
                f"def f(x):\n    a, b = x\n    {start}\n    first = {call}{law}({given}{SIZES[size]})\n"
                f"    return np.sum(first * first) + a * {call}normal(0.0, 1.0)\n"
            )
        )


MOVES = {
    "choice": "{}choice(x, 5)",
    "one of": "{}choice(x)",
    "without replacement": "{}choice(x, 3, replace=False)",
    "weighted": "{}choice(x, 5, p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1])",
    "permutation": "{}permutation(x)",
    "permutation of rows": "{}permutation(x.reshape(3, 2))",
    "shuffle": "shuffled({}shuffle, x * 1.0)",
    "shuffle of rows": "shuffled({}shuffle, x.reshape(3, 2) * 1.0)",
}
OF_LISTS = {
    "shuffle": "y = [x[0], x[1] * x[2], x[3], 2.0 * x[4]]\n    {}shuffle(y)",
    "shuffle of rows": "y = [x * x, x, 3.0 * x]\n    {}shuffle(y)",
    "shuffle by name": "y = [x[0], x[1] * x[2], x[3]]\n    {}shuffle(x=y)",
    "choice": "y = {}choice([x[0], x[1] * x[2], x[3]], 5)",
    "one of": "y = {}choice([x[0], x[1] * x[2], x[3]])",
    "permutation": "y = {}permutation([x[0], x[1] * x[2], x[3]])",
    "permutation of rows": "y = {}permutation([x * x, x, 3.0 * x])",
    "places": "y = x * {}choice([1.0, 2.0, 3.0], 6)",
}


@pytest.mark.parametrize("name", OF_LISTS)
@pytest.mark.parametrize("way", ["generator", "attribute", "state", "module"])
def test_items_of_lists_that_are_moved(way, name):
    start, call = GENERATORS[way]
    f = program(
        f"def f(x):\n    {start}\n    {OF_LISTS[name].format(call)}\n    y = np.ravel(np.array(y))\n"
        f"    return np.sum(y * y * np.arange(1.0, y.size + 1)) + x[0] * {call}normal(0.0, 1.0)\n"
    )
    hold(f, np.array([0.3, 1.1, -0.7, 2.0, 0.9, -1.4]))


OF_GENERATORS = {
    "choice of columns": "rng.choice(x.reshape(2, 3), 2, axis=1)",
    "permutation of columns": "rng.permutation(x.reshape(2, 3), axis=1)",
    "permuted": "rng.permuted(x.reshape(2, 3))",
    "permuted rows": "rng.permuted(x.reshape(2, 3), axis=1)",
    "shuffle of columns": "shuffled(rng.shuffle, x.reshape(2, 3) * 1.0, axis=1)",
}
MOVED = [(way, text) for way in ("generator", "state", "module") for text in MOVES.values()]
MOVED += [("generator", text) for text in OF_GENERATORS.values()]


@pytest.mark.parametrize(("way", "text"), MOVED)
def test_elements_that_are_moved(way, text):
    start, call = GENERATORS[way]
    if "shuffled" in text:  # the call stands where the code is
        method, given = text.format(call)[9:-1].split(", ", 1)
        given, _, axis = given.partition(", axis=")
        text = f"y = {given}\n    {method}(y{', axis=' + axis if axis else ''})"
    else:
        text = f"y = np.asarray({text.format(call)})"
    f = program(
        f"def f(x):\n    {start}\n    {text}\n    y = y.reshape(-1)\n"
        f"    return np.sum(y * y * np.arange(1.0, y.size + 1)) + x[0] * {call}normal(0.0, 1.0)\n"
    )
    hold(f, np.array([0.3, 1.1, -0.7, 2.0, 0.9, -1.4]))


def test_the_mean_of_a_normal_law_of_several():
    f = program(
        "def f(x):\n    rng = np.random.default_rng(3)\n"
        "    y = rng.multivariate_normal(x, [[2.0, 0.3], [0.3, 1.0]], size=4)\n    return np.sum(y * y * y)\n"
    )
    hold(f)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ("rng.normal(0.0, -x[0])", ValueError, "scale < 0"),
        ("rng.normal(x, 1.0, size=3).sum()", ValueError, "shape|broadcast"),
        ("rng.gamma(x[0], 1.0)", TypeError, "scipy.stats.gamma.ppf"),
        ("rng.beta(x[0], 1.0)", TypeError, "scipy.stats.beta.ppf"),
        ("rng.poisson(x[0])", TypeError, "whole numbers"),
        ("rng.normal(0.0, x[0], wrong=1)", TypeError, "wrong"),
    ],
)
def test_what_is_refused(call, error, text):
    f = program(f"def f(x):\n    rng = np.random.default_rng(3)\n    return {call}\n")
    with pytest.raises(error, match=text):
        ag.grad(f)(X)


def test_ways_out_of_refusals():
    def counted(x):
        return x[1] * np.random.default_rng(3).poisson(ag.stop_gradient(x[0]) * 3.0)

    hold(counted)
    from scipy import stats

    def by_quantiles(x):
        return stats.gamma.ppf(np.random.default_rng(3).uniform(size=3), x[0]).sum()

    np.testing.assert_allclose(ag.grad(by_quantiles)(X), differences(by_quantiles, X), rtol=1e-5, atol=1e-8)


def test_a_number_that_is_drawn_is_a_python_number():
    f = program(
        "def f(x):\n    rng = np.random.default_rng(3)\n    y = rng.normal(0.0, float(x[0]))\n"
        "    return y * (2.0 if isinstance(y, float) and not hasattr(y, 'dtype') else 1.0)\n"
    )
    hold(f)


def test_float32_parameters_are_drawn_in_float64():
    def f(x):
        return np.sum(np.random.default_rng(3).normal(x, 1.0) ** 2)

    x = X.astype(np.float32)
    value, gradient = ag.value_and_grad(f)(x)
    assert value.dtype == np.float64
    assert gradient.dtype == np.float32
    assert value == f(x)


def test_draws_of_constants_are_numpys():
    def f(x):
        rng = np.random.default_rng(3)
        drawn = rng.normal(0.0, 1.0, 3)
        assert type(np.random.default_rng(3).normal) is type(rng.normal)
        return np.sum(x) * drawn[0]

    np.testing.assert_allclose(ag.grad(f)(X), np.random.default_rng(3).normal(size=3)[0])
