"""CuPy's own public names, called on Tensors in adopted calls: each is recorded, constant, or refused in words.

Also programs in them: methods of ufuncs, `r_`, names that NumPy has dropped, `cupyx`, copies to the host and back.
"""

import importlib
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

# Names that print, read or write files, or change settings of the process.
LEFT_OUT = frozenset(
    """
    clear_memo disp fuse genfromtxt get_printoptions load loadtxt memoize printoptions save savetxt savez
    savez_compressed set_printoptions set_string_function show_config who
    """.split()
)

# How names are called, in turn, until a call is no error of its own.
CALLS = [
    lambda f, x: f(x),
    lambda f, x: f(x, x),
    lambda f, x: f(x, 1),
    lambda f, x: f([x, x]),
    lambda f, x: f(x, x, x),
    lambda f, x: f(x[0]),
    lambda f, x: f(x[0], x[0]),
    lambda f, x: f(x[0], x[0], 1),
    lambda f, x: f(x, "float32"),
    lambda f, x: f(x, (2, 2)),
    lambda f, x: f(x[0] > 1.0, x),
    lambda f, x: f([x > 1.0], [x]),
    lambda f, x: f(x, x > 1.0, 0),
    lambda f, x: f((x > 1.0) * 1, [x, x]),
    lambda f, x: f((x[0] > 1.0) * 1, x[0]),
    lambda f, x: f(x, (x > 1.0) * 1, x, 0),
    lambda f, x: f(x, (x > 1.0) * 1, 0),
    lambda f, x: f(lambda row: row * 2, 0, x),
    lambda f, x: f((2, 2), x[0, 0]),
    lambda f, x: f(x @ x.T),
    lambda f, x: f(x[0], x[0], x[0]),
    lambda f, x: f(matrix_of(x)),
    lambda f, x: f(matrix_of(x), matrix_of(x)),
    lambda f, x: f(matrix_of(x), x[0]),
    lambda f, x: f([matrix_of(x), matrix_of(x)]),
    lambda f, x: f([[matrix_of(x)]]),
    lambda f, x: f(matrix_of(x), 1),
    lambda f, x: f(x[0], [0, 1]),
    lambda f, x: f(x, 0, 1),
    lambda f, x: f(8),
    lambda f, x: f(8, 0.5),
    lambda f, x: f("hann", 8, 4),
    lambda f, x: f(x[0, 0] * 20.0),
    lambda f, x: f((line(2), line(2)), x, x * 0.1),
    lambda f, x: f(line(4), x.ravel(), line(2) + 0.5),
    lambda f, x: f((line(8), x.ravel(), 3)),
    lambda f, x: f(x, (x > 1.0) * 1, [0, 1], importlib.import_module("cupy").sum, "float64", 0),
    lambda f, x: f(x[1, 0], 0, line(2) * 0.6 + 0.2, line(2) * 0.2 + 0.35, 1.0, 20.0, "butter"),
    lambda f, x: f(line(8), x[0, 0], 1.0, x[1, 0]),
    lambda f, x: f(x[0], x[1], line(30) * x[0, 0]),
    lambda f, x: f(x, line(3), line(3)),
    lambda f, x: f((line(6) + 1.0)[None] * x[0, 0]),
    lambda f, x: f(x, x[:, :1], x[:1], x[:1, :1]),
]


def line(n):
    """0.0 to n - 1."""
    return importlib.import_module("cupy").arange(float(n))


def matrix_of(x):
    """A symmetric sparse matrix with the elements of x."""
    return importlib.import_module("arraygrad.scipy.sparse").csr_matrix(x + x.T)


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


def is_recorded(part):
    """Whether a result requires grad: a Tensor, or a sparse matrix of one."""
    return getattr(part.data if hasattr(part, "tocsr") else part, "requires_grad", False)


def outcome(module, name, x):
    """recorded, constant, refused, or the error of the last call, for a name of a module."""
    function = program(module, f"return x[1](cp.{name}, x[0])")
    kinds = []

    def f(t, call):
        found = function((t, call))
        parts = found if isinstance(found, tuple | list) else (found,)
        kinds.append("recorded" if any(map(is_recorded, parts)) else "constant")
        return ag.sum(t)

    refused = error = None
    for call in CALLS:
        try:
            ag.grad(lambda t, call=call: f(t, call), adopt=True)(x)
            return kinds[0]
        except Exception as caught:
            text = str(caught)
            if "arraygrad" in text or "requires grad" in text or "0-d integer tensor" in text:
                refused = "refused"
            error = f"{type(caught).__name__}: {text}"
    return refused or error


# Modules, the least numbers of their names that are recorded, and of those that are looked at.
MODULES = {
    "cupy": (215, 320),
    "cupy.linalg": (18, 22),
    "cupy.fft": (14, 16),
    "cupyx": (1, 10),
    "cupyx.scipy.fft": (28, 34),
    "cupyx.scipy.interpolate": (6, 29),
    "cupyx.scipy.linalg": (13, 21),
    "cupyx.scipy.ndimage": (49, 70),
    "cupyx.scipy.signal": (85, 153),
    "cupyx.scipy.signal.windows": (0, 25),
    "cupyx.scipy.spatial": (0, 3),
    "cupyx.scipy.spatial.distance": (0, 18),
    "cupyx.scipy.special": (90, 108),
    "cupyx.scipy.stats": (4, 5),
    "cupyx.scipy.sparse": (15, 36),
    "cupyx.scipy.sparse.linalg": (9, 18),
}
# Functions of integers alone, and abstract classes.
OF_INTEGERS = frozenset("packbits unpackbits ravel_multi_index unravel_index sparray spmatrix".split())


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_recorded_constant_or_refused(cupy, module):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has few of CuPy's names")
    x, found, owner = cupy.asarray(X), {}, importlib.import_module(module)
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or name in LEFT_OUT or isinstance(value, types.ModuleType) or not callable(value):
            continue
        if isinstance(value, type) and (issubclass(value, BaseException) or not module.startswith("cupyx.scipy")):
            continue
        found[name] = outcome(module, name, x)
    others = {name: text for name, text in found.items() if text not in ("recorded", "constant", "refused")}
    assert {name: text for name, text in others.items() if name not in OF_INTEGERS} == {}
    recorded, looked_at = MODULES[module]
    assert len(found) >= looked_at
    assert list(found.values()).count("recorded") >= recorded
