"""Programs in CuPy's own names: methods of ufuncs, `r_`, names that NumPy has dropped, `cupyx`, copies to the host and
back; what is refused, and what its errors name. Every name is called in test_every_name.py.
"""

import types

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

X = np.array([[2.0, 0.5], [0.3, 1.5]])

# Of the program over CuPy, and where it is written otherwise, over NumPy.
PROGRAMS = {
    "add.at": "u = x * 1.0; cp.add.at(u, cp.asarray([0, 0]), x[1]); return cp.sum(u**2)",
    "maximum.at": "u = x[0] * 1.0; cp.maximum.at(u, cp.asarray([0, 0]), x[1]); return cp.sum(u**2)",
    "reduce": "return cp.sum(cp.add.reduce(x, axis=0) ** 2) + cp.maximum.reduce(cp.maximum.reduce(x))",
    "accumulate": "return cp.sum(cp.add.accumulate(x) ** 2) + cp.sum(cp.multiply.outer(x[0], x[1]) ** 2)",
    "put": "u = x * 1.0; cp.put(u, cp.asarray([0, 3]), x[0]); return cp.sum(u**2)",
    "r_": "return cp.sum(cp.r_[x[0], 1.0, x[1] * 2] ** 2) + cp.sum(cp.c_[x[0], x[1]] ** 2)",
    "bincount": "return cp.sum(cp.bincount(cp.asarray([0, 1, 1, 0]), weights=x.ravel()) ** 2)",
    "fft": "return cp.sum(cp.abs(cp.fft.fft(x)) ** 2) + cp.sum(cp.fft.irfft(cp.fft.rfft(x[0])) ** 2)",
    "fix": "return cp.sum(cp.fix(x) * x)",
    "i0": "return cp.sum(cp.i0(x))",
    "sinc": "return cp.sum(cp.sinc(x))",
    "lists": "return cp.sum(cp.sin([x[0, 0], x[1, 1]])) + cp.max(cp.asarray([x[0, 0], x[1, 0]]))",
    "asfortranarray": "return cp.sum(cp.asfortranarray(x) ** 2)",
    "trapz": ("return cp.trapz(x[0] ** 2)", "return cp.trapezoid(x[0] ** 2)"),
    "msort": ("return cp.sum(cp.msort(x)[0] ** 2)", "return cp.sum(cp.sort(x, axis=0)[0] ** 2)"),
    "round_": ("return cp.sum(cp.round_(x) * x)", "return cp.sum(cp.round(x) * x)"),
    "product": ("return cp.product(x)", "return cp.prod(x)"),
    "row_stack": ("return cp.sum(cp.row_stack([x, x]) ** 2)", "return cp.sum(cp.vstack([x, x]) ** 2)"),
    "asnumpy": (
        "h = cp.asnumpy(x) * np.arange(2.0); return cp.sum(cp.asarray(h) * x)",
        "return cp.sum(x * np.arange(2.0) * x)",
    ),
    "scatter_add": (
        "import cupyx; u = x * 1.0; cupyx.scatter_add(u, (cp.asarray([0, 0]),), x[1]); return cp.sum(u**2)",
        "u = x * 1.0; cp.add.at(u, np.asarray([0, 0]), x[1]); return cp.sum(u**2)",
    ),
    "scatter_max": (
        "import cupyx; u = x * 1.0; cupyx.scatter_max(u, cp.asarray([1]), x[0]); return cp.sum(u**2)",
        "u = x * 1.0; cp.maximum.at(u, np.asarray([1]), x[0]); return cp.sum(u**2)",
    ),
    "rsqrt": ("import cupyx; return cp.sum(cupyx.rsqrt(x))", "return cp.sum(1 / cp.sqrt(x))"),
}


def program(library, body):
    """The function f of a program's text, with `library` in CuPy's place."""
    module = types.ModuleType("program")
    exec(f"import {library} as cp\nimport numpy as np\ndef f(x):\n    {body}\n", module.__dict__)
    return module.f


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_gradients_of_those_over_numpy(cupy, name):
    texts = PROGRAMS[name]
    over_cupy, over_numpy = (texts, texts) if isinstance(texts, str) else texts
    expected = ag.grad(program("numpy", over_numpy), adopt=True)(X)
    found = ag.grad(program("cupy", over_cupy), adopt=True)(cupy.asarray(X))
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(found.get(), expected, rtol=1e-10)


# Calls that NumPy's or CuPy's code refuses, whether adopted, and what the error says beside the words of that code.
REFUSED = {
    "compress by two axes": ("return cp.sum(cp.compress(x, x))", True, "numpy.compress computes it"),
    "quantiles beyond one": ("return cp.sum(cp.quantile(x, 1.5))", True, "numpy.quantile computes it"),
    "putmask": ("u = x * 1.0; cp.putmask(u, x > 1.0, x); return cp.sum(u)", False, "CuPy's code takes its own arrays"),
    "extract": ("return cp.sum(cp.extract(x > 1.0, x))", False, "CuPy's code takes its own arrays"),
    "matrix_power": ("return cp.sum(cp.linalg.matrix_power(x, 2))", False, "CuPy's code takes its own arrays"),
    "percentile": ("return cp.percentile(x, 50.0)", False, r"numpy.percentile\(t, 50\)"),
    "meshgrid": ("return cp.sum(cp.meshgrid(x[0], x[1])[0])", False, "CuPy's code takes its own arrays"),
    "normal": ("return cp.sum(cp.random.normal(x, 1.0))", True, r"loc \+ scale \* cupy.random.standard_normal"),
    "normal, not adopted": ("return cp.sum(cp.random.normal(x, 1.0))", False, r"cupy.random.standard_normal\(size\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_way_out(cupy, name):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has few of CuPy's names")
    body, adopt, text = REFUSED[name]
    with pytest.raises(Exception, match=text) as caught:
        ag.grad(program("cupy", body), adopt=adopt)(cupy.asarray(X))
    assert "arraygrad" in str(caught.value)


# The same written as the errors of REFUSED say, and what it is over NumPy.
WAYS_OUT = {
    "normal": (
        "return cp.sum((x + 2.0 * x * cp.random.standard_normal((2, 2))) * 0.0 + x)",
        "return cp.sum(x)",
    ),
    "elements of a matrix": (
        (
            "import cupyx.scipy.sparse as s; S = s.csr_matrix(cp.asarray(np.eye(2))); i = cp.asarray([0, 1]); "
            "S = S + s.csr_matrix((x[0], (i, i)), shape=S.shape); return cp.sum((S @ x[1]) ** 2)"
        ),
        "return cp.sum(((1.0 + x[0]) * x[1]) ** 2)",
    ),
    "a matrix of SciPy's": (
        (
            "import scipy.sparse as h, cupyx.scipy.sparse as s; C = s.csr_matrix(h.diags([1.0, 2.0])); "
            "V = s.csc_matrix(h.csr_matrix((cp.asnumpy(x[0]), ([0, 1], [1, 0])), shape=(2, 2))); "
            "return cp.sum(((C @ V) @ x[1]) ** 2)"
        ),
        "return (x[0, 0] * x[1, 1]) ** 2 + (2.0 * x[0, 1] * x[1, 0]) ** 2",
    ),
    "isneginf with out": (
        "u = x * 1.0; cp.isneginf(u, u); return cp.sum(u) + cp.sum(x**2)",
        "return cp.sum(x**2)",
    ),
    "a kernel with out": (
        "import cupyx.scipy.special as p; u = x * 1.0; r = p.expit(x, u); return cp.sum(u * x) + cp.sum(r)",
        "r = 1.0 / (1.0 + cp.exp(-x)); return cp.sum(r * x) + cp.sum(r)",
    ),
    "one of two results with out": (
        "u = x * 1.0; cp.modf(x * 2.0, u); return cp.sum(u**2)",
        "return cp.sum(cp.modf(x * 2.0)[0] ** 2)",
    ),
    "round beside special": (
        "import cupyx.scipy.special; return cp.sum(cp.round(x, 1) * x)",
        "return cp.sum(cp.round(x, 1) * x)",
    ),
    "piecewise with conditions that broadcast": (
        "return cp.sum(cp.piecewise(x, [x[0] > 1.0, x[0] <= 1.0], [1.0, 3.0]) * x)",
        "return cp.sum(cp.asarray([1.0, 3.0]) * x)",
    ),
}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_what_errors_name_leads_to_the_gradient(cupy, name):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has few of CuPy's names")
    over_cupy, over_numpy = WAYS_OUT[name]
    found = ag.grad(program("cupy", over_cupy), adopt=True)(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), ag.grad(program("numpy", over_numpy), adopt=True)(X), rtol=1e-12)


def test_writes_into_a_matrix_that_was_made_before_name_the_matrix_that_records_them(cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    S, i = sparse.csr_matrix(cupy.eye(2)), cupy.asarray([0, 1])

    def f(x):
        S[i, i] = x[0]
        return cupy.sum(S @ x[1])

    with pytest.raises(TypeError, match=r"after S = arraygrad\.scipy\.sparse\.Matrix\(S\)"):
        ag.grad(f, adopt=True)(cupy.asarray(X))


@pytest.mark.parametrize("name", ["add", "maximum", "minimum"])
def test_scattering_ufuncs_outside_of_transforms_name_the_way(cupy, name):
    t = ag.asarray(cupy.ones(3), requires_grad=True) * 1.0
    with pytest.raises(AttributeError, match=r"is recorded in arraygrad\.grad"):
        getattr(cupy, name).at(t, cupy.asarray([0, 0]), 2.0)
    getattr(np, name).at(t, cupy.asarray([0, 0]), 2.0)
    np.testing.assert_array_equal(t.numpy(), [{"add": 5.0, "maximum": 2.0, "minimum": 1.0}[name], 1.0, 1.0])


FLAT = {
    "one": (0, 9.0), "the last": (-1, 2), "a list": ([0, 1], 9.0), "a slice": (slice(1, 3), [5.0, 6.0]),
    "all": (slice(None), 1.5), "of NumPy's": ([0, 2], np.array([1.0, 2.0])), "repeated": (slice(0, 5), [1.0, 2.0]),
    "a mask": (np.array([True, False, True, False, False, True]), 7.0),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAT)
def test_writes_through_flat(cupy, name):
    key, value = FLAT[name]
    t, expected = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3))), np.arange(6.0).reshape(2, 3)
    t.flat[key] = value
    expected.flat[key] = value
    np.testing.assert_array_equal(t.numpy(), expected)


def test_recorded_writes_through_flat(cupy):
    x = ag.asarray(cupy.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
    v = ag.asarray(cupy.asarray([3.0, 4.0]), requires_grad=True)
    y = x * 1.0
    y.flat[1:3] = v
    ag.sum(y * y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, 0.0, 0.0], [6.0, 8.0, 10.0]])
    np.testing.assert_array_equal(v.grad.numpy(), [6.0, 8.0])
