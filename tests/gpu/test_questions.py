"""Which library an array or a matrix is of: what a program is told in an adopted call is what a plain one tells it.

Programs for both libraries choose their functions by such questions: `scipy.sparse.issparse(A)`, `isinstance(A,
cupyx.scipy.sparse.csr_matrix)`, `cupyx.scipy.get_array_module(x)`. The questions are the public ones of both packages.
"""

import functools
import importlib
import types

import numpy as np
import pytest

import arraygrad as ag

scipy_sparse = pytest.importorskip("scipy.sparse")
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

N = 4
# What a function has at hand, or makes of its argument x. Each is asked about.
OBJECTS = {
    "array": "x * 2",
    "element": "x[0]",
    "plain array": "x0",
    "matrix": "sparse.csr_matrix((x, (places, places)), shape=(4, 4))",
    "matrix of columns": "sparse.csc_matrix((x, (places, places)), shape=(4, 4))",
    "matrix of coordinates": "sparse.coo_matrix((x, (places, places)), shape=(4, 4))",
    "matrix of diagonals": "sparse.diags(x)",
    "product": "sparse.csr_matrix((x, (places, places)), shape=(4, 4)) @ sparse.csr_matrix((x0, (places, places)))",
    "constant": "sparse.csr_matrix((x0, (places, places)), shape=(4, 4))",
    "constant of other values": "sparse.identity(4, format='csr') * 2",
    "made before": "m0",
    "made before, of the other library": "other",
}
MODULES = {"array": "cp.get_array_module(a).__name__", "SciPy": "cupyx.scipy.get_array_module(a).__name__"}


@functools.cache
def questions():
    """Text of what is asked about `a`: functions and classes of both packages, by their names."""
    found = {f"module of its {name}": text for name, text in MODULES.items()}
    found |= {f"is of {name}": f"isinstance(a, {name}.ndarray)" for name in ("np", "cp")}
    for name, package in (("sp", "scipy.sparse"), ("cs", "cupyx.scipy.sparse")):
        for key, value in vars(importlib.import_module(package)).items():
            if isinstance(value, type) and (hasattr(value, "tocsr") or key in ("spmatrix", "sparray")):
                found[f"isinstance of {name}.{key}"] = f"isinstance(a, {name}.{key})"
            elif key == "issparse" or key.startswith("isspmatrix"):
                found[f"{name}.{key}"] = f"{name}.{key}(a)"
    return found


def program(library, kind):
    """A function that keeps the answers about one object in a list, and its module."""
    module = types.ModuleType("program")
    names = "import cupy as cp, cupyx.scipy, numpy as np, scipy.sparse as sp, cupyx.scipy.sparse as cs\n"
    sparse = {"numpy": "sp", "cupy": "cs"}[library]
    asked = "".join(f"    answers[{name!r}] = {text}\n" for name, text in questions().items())
    exec(
        f"{names}sparse = {sparse}\nanswers = {{}}\ndef f(x):\n    a = {OBJECTS[kind]}\n{asked}"
        "    return (x * x).sum()\n",
        module.__dict__,
    )
    xp = importlib.import_module(library)
    theirs, others = (importlib.import_module(f"{root}.sparse") for root in ("scipy", "cupyx.scipy"))
    if library == "cupy":
        theirs, others = others, theirs
    vars(module).update(x0=xp.ones(N), places=xp.arange(N), m0=theirs.identity(N, format="csr"), other=others.eye(N))
    return module


@pytest.mark.parametrize("library", ["numpy", "cupy"])
@pytest.mark.parametrize("kind", OBJECTS)
def test_answers_in_an_adopted_call_are_those_of_a_plain_one(cupy, library, kind):
    pytest.importorskip("cupyx.scipy.sparse")
    x = importlib.import_module(library).linspace(1.0, 2.0, N)
    plain, adopted = program(library, kind), program(library, kind)
    plain.f(x)
    ag.grad(adopted.f)(x)
    assert len(plain.answers) == len(questions())
    assert adopted.answers == plain.answers


def test_functions_of_the_module_that_is_found_record(cupy):
    pytest.importorskip("cupyx.scipy.special")
    import cupyx.scipy

    def f(x):
        scipy = cupyx.scipy.get_array_module(x)
        return (scipy.special.erf(x) * scipy.special.logsumexp(x)).sum()

    x = np.linspace(0.1, 1.0, N)
    step = 1e-4 * np.eye(N)
    at = [[float(f(cupy.asarray(x + n * s))) for n in (-2, -1, 1, 2)] for s in step]
    expected = [(8 * (c - b) - (d - a)) / 12e-4 for a, b, c, d in at]
    np.testing.assert_allclose(ag.grad(f)(cupy.asarray(x)).get(), expected, rtol=1e-9)


def test_a_private_name_of_a_recorded_matrix_is_refused_in_words(cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")

    def f(x):
        matrix = sparse.csr_matrix((x, (cupy.arange(N), cupy.arange(N))), shape=(N, N))
        return (matrix._get_arrayXarray(cupy.arange(N), cupy.arange(N)) ** 2).sum()

    with pytest.raises(AttributeError, match=r"'_get_arrayXarray' is private to cupyx's csr_matrix.*A\[i, j\]"):
        ag.grad(f)(cupy.ones(N))

    def g(x):  # the way out
        matrix = sparse.csr_matrix((x, (cupy.arange(N), cupy.arange(N))), shape=(N, N))
        return (matrix[cupy.arange(N), cupy.arange(N)] ** 2).sum()

    np.testing.assert_allclose(ag.grad(g)(cupy.ones(N)).get(), 2 * np.ones(N))
