"""Libraries that take no Tensor: the error names the program's line, not the library's, and a way out that is right.

The class: a library (PyTorch, JAX, SymPy, mpmath, matplotlib, pandas, SciPy's sparse matrices, NumPy's iterators) x one
of its functions x adopted or not; attributes that PyTorch's tensors have; float() and math in single precision.

Imports the public names of arraygrad.
"""

import decimal
import fractions
import importlib
import itertools
import math
import re
import struct

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.1, 1.7])
HERE = rf"{re.escape(__file__.rpartition('/')[2])}:\d+, in "


def lib(name):
    return pytest.importorskip(name, exc_type=ImportError)


def plotted(x):
    plt = lib("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.figure()
    return plt


def of_matrix(m, modules):
    a = m.Symbol("a")
    return m.lambdify(a, m.Matrix([[m.sin(a), a * m.cos(a)]]), modules)


CASES = {
    "torch.sum": ("torch", lambda m, x: m.sum(x), "from_torch", lambda m: ag.interop.from_torch(m.sum)),
    "torch.sin": ("torch", lambda m, x: m.sin(x).sum(), "from_torch",
                  lambda m: ag.interop.from_torch(lambda x: m.sin(x).sum())),
    "torch.from_numpy": ("torch", lambda m, x: m.from_numpy(x).sum(), "from_torch",
                         lambda m: ag.interop.from_torch(m.sum)),
    "torch.as_tensor": ("torch", lambda m, x: m.as_tensor(x).sum(), "from_torch",
                        lambda m: ag.interop.from_torch(m.sum)),
    "jnp.sum": ("jax.numpy", lambda m, x: m.sum(x), "interop.from_jax", lambda m: ag.interop.from_jax(m.sum)),
    "jnp.dot": ("jax.numpy", lambda m, x: m.dot(x, x), "interop.from_jax",
                lambda m: ag.interop.from_jax(lambda x: m.dot(x, x))),
    "jnp.asarray": ("jax.numpy", lambda m, x: m.asarray(x).sum(), "interop.from_jax",
                    lambda m: ag.interop.from_jax(m.sum)),
    "sympy.sin": ("sympy", lambda m, x: m.sin(x[0]), "lambdify",
                  lambda m: lambda x: m.lambdify(m.Symbol("a"), m.sin(m.Symbol("a")), "numpy")(x[0])),
    "sympy.Symbol": ("sympy", lambda m, x: m.Symbol("a") * x[0], "lambdify",
                     lambda m: lambda x: m.lambdify(m.Symbol("a"), 2 * m.Symbol("a"), "numpy")(x[0])),
    "sympy.Float": ("sympy", lambda m, x: m.Float(x[0]), "lambdify",
                    lambda m: lambda x: m.lambdify(m.Symbol("a"), 2 * m.Symbol("a"), "numpy")(x[0])),
    "lambdify in the call": ("sympy", lambda m, x: of_matrix(m, "numpy")(x[0]).sum(), r"lambdify\(symbols",
                             lambda m: lambda x: of_matrix(m, [{"array": ag.asarray}, "numpy"])(x[0]).sum()),
    "lambdify of math": ("sympy", lambda m, x: m.lambdify(m.Symbol("a"), m.sin(m.Symbol("a")), "math")(x[0]),
                         r"numpy\.sin", lambda m: lambda x: np.sin(x[0])),
    "mpmath.sin": ("mpmath", lambda m, x: m.sin(x[0]), "NumPy's functions", lambda m: lambda x: np.sin(x[0])),
    "plt.plot": ("matplotlib.pyplot", lambda m, x: (plotted(x).plot(x), x.sum())[1],
                 r"Give matplotlib arraygrad\.stop_gradient\(t\)",
                 lambda m: lambda x: (plotted(x).plot(ag.stop_gradient(x)), x.sum())[1]),
    "plt.hist": ("matplotlib.pyplot", lambda m, x: (plotted(x).hist(x), x.sum())[1],
                 r"Give matplotlib arraygrad\.stop_gradient\(t\)",
                 lambda m: lambda x: (plotted(x).hist(ag.stop_gradient(x)), x.sum())[1]),
    "pd.Series": ("pandas", lambda m, x: m.Series(x).sum(), r"Give pandas arraygrad\.stop_gradient\(t\)",
                  lambda m: lambda x: (m.Series(ag.stop_gradient(x)), x.sum())[1]),
    "np.ndenumerate": ("numpy", lambda m, x: sum(v for _, v in m.ndenumerate(x)), "ndindex",
                       lambda m: lambda x: sum(x[i] for i in m.ndindex(x.shape))),
    "np.nditer": ("numpy", lambda m, x: sum(v for v in m.nditer(x)), "ndindex",
                  lambda m: lambda x: sum(x[i] for i in m.ndindex(x.shape))),
}  # fmt: skip


RECORDED = {("np.ndenumerate", True)}  # in adopted calls


@pytest.mark.parametrize(("case", "adopt"), [c for c in itertools.product(CASES, (True, False)) if c not in RECORDED])
@pytest.mark.filterwarnings("ignore")
def test_the_error_names_the_line_and_a_way_that_works(case, adopt):
    name, f, text, way = CASES[case]
    module = lib(name)
    with pytest.raises(TypeError) as error:
        ag.grad(lambda x: f(module, x), adopt=adopt)(X)
    told = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert re.search(HERE, told)
    assert re.search(text, told)
    assert told.find("site-packages") < 0 or re.search(HERE, told).start() < told.find("site-packages")
    other = way(module)
    x = X.astype(np.float32) if name == "jax.numpy" else X  # JAX is in single precision where nothing says otherwise
    gradient = ag.grad(lambda x: other(x) * 1.0, adopt=adopt)(x)
    steps = np.eye(3) * 1e-6

    def plain(x):
        return float(other(x))  # what the error says to write does in a plain call, too

    differences = [(plain(X + d) - plain(X - d)) / 2e-6 for d in steps] if name != "jax.numpy" else None
    expected = {"jnp.sum": np.ones(3), "jnp.asarray": np.ones(3), "jnp.dot": 2 * X}.get(case, differences)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_diags_of_a_tensor():
    sparse = lib("scipy.sparse")
    with pytest.raises(TypeError, match=rf"{HERE}.*arraygrad\.scipy\.sparse\.diags, which is recorded"):
        ag.grad(lambda x: (sparse.diags(x) @ np.ones(3)).sum(), adopt=False)(X)
    ours = importlib.import_module("arraygrad.scipy.sparse")
    for f, adopt in ((lambda x: (ours.diags(x) @ np.ones(3)).sum(), False),
                     (lambda x: (sparse.diags(x) @ np.ones(3)).sum(), True)):  # fmt: skip
        np.testing.assert_allclose(ag.grad(f, adopt=adopt)(X), np.ones(3))


def test_size_that_is_called():
    with pytest.raises(TypeError, match=rf"{HERE}.*x\.size\(0\): .*x\.shape\[0\] for x\.size\(0\)"):
        ag.grad(lambda x: x.sum() / x.size(0))(X)
    three = 3
    with pytest.raises(TypeError, match=r"^'int' object is not callable"):  # another number: as it is
        ag.grad(lambda x: x.sum() / three(0))(X)


def test_testing_is_an_attribute_of_the_package():
    assert ag.testing is importlib.import_module("arraygrad.testing")


@pytest.mark.parametrize("f", [lambda x: float(x[0]) * 2, lambda x: math.sin(x[0]) * 2])
def test_numbers_of_single_precision_become_doubles(f):
    x = X.astype(np.float32)
    value, gradient = ag.value_and_grad(f, adopt=True)(x)
    assert not isinstance(value, np.generic)
    assert value == f(x)
    assert gradient.dtype == np.float32
    assert ag.grad(lambda x: f(x.astype(float)), adopt=True)(x)[0] == pytest.approx(ag.grad(f, adopt=True)(X)[0])


@pytest.mark.parametrize("f", [lambda x: float(x[0]) * 2, lambda x: math.sin(x[0]) * 2])
def test_numbers_without_adoption_name_it(f):
    with pytest.raises(TypeError, match=rf"{HERE}.*In arraygrad\.grad\(f, adopt=True\) float\(\) and"):
        ag.grad(f, adopt=False)(X)
    assert np.isfinite(ag.grad(f, adopt=True)(X)).all()


class Held:
    """A number in an object of the program's."""

    def __init__(self, number):
        self.number = number


# Functions of Python, and classes of the program, that take no Tensor and have words of their own for it.
OF_PYTHON = {
    "float.__pow__": lambda x: float.__pow__(x[0], 2.0),
    "float.__mul__": lambda x: float.__mul__(Held(x[0]).number, 3.0),
    "float.hex": lambda x: float.fromhex(float.hex(x[0])),
    "str.join": lambda x: "".join(x),
    "Decimal": lambda x: float(decimal.Decimal(x[0])),
    "Fraction": lambda x: float(fractions.Fraction(x[0])),
    "struct.pack": lambda x: struct.unpack("d", struct.pack("d", x[0]))[0],
    "object.__new__": lambda x: object.__new__(x),
    "an attribute": lambda x: x.no_such_attribute,
    "a list": lambda x: (lambda held: "".join(held))([x[0], x[1]]),
    "float.__add__ in a function": lambda x: (lambda y: float.__add__(y, 1.0))(x[0]),
}


# Adopted calls record the methods of float.
ASKED = [(name, adopt) for name in OF_PYTHON for adopt in (True, False) if not (adopt and name.startswith("float."))]


@pytest.mark.parametrize(("name", "adopt"), ASKED)
def test_an_error_in_pythons_own_words_gets_the_line_the_value_and_a_way(name, adopt):
    with pytest.raises((TypeError, AttributeError, struct.error)) as error:
        ag.grad(OF_PYTHON[name], adopt=adopt)(X)
    told = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert re.search(HERE, told)
    assert "Tensor" in told
    assert re.search(r"stop_gradient\(|Tensor\.\w+ ", told)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] + None,
        lambda x: len(3),
        lambda x: {}["a"],
        lambda x: list(x)[5],
        lambda x: np.ones((2, 3)) @ x[:2],
    ],
    ids=["None", "len", "key", "index", "shapes"],
)
def test_an_error_that_the_plain_call_has_too_keeps_its_class(f):
    classes = []
    for call in (f, ag.grad(f)):
        try:
            call(X)
        except (TypeError, KeyError, IndexError, ValueError) as error:
            classes.append(type(error))
    assert classes == classes[:1] * 2
