"""The namespaces over PyTorch, JAX and dask: complete, imported on first use, with the library's own gradients.

Imports the public names of arraygrad.
"""

import subprocess
import sys

import numpy as np
import pytest
from libraries import leaf, numpy_of, raw, require

import arraygrad as ag
from arraygrad import backends

LIBRARIES = ["torch", "jax", "dask"]
RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=(3, 2))

# A function of (namespace, a, b) that every library has the parts of.
FUNCTIONS = {
    "elementwise": lambda xp, a, b: xp.sum(xp.tanh(a) * xp.exp(-(a**2)) + xp.sqrt(xp.abs(a) + 1.0)),
    "matmul": lambda xp, a, b: xp.sum((a @ b) ** 2),
    "reductions": lambda xp, a, b: xp.sum(xp.mean(a, axis=0) * xp.max(a, axis=1)) + xp.sum(xp.var(b)),
    "shapes": lambda xp, a, b: xp.sum(
        xp.reshape(xp.permute_dims(a, (1, 0)), (9,))[1:] * xp.concat([a[0], a[1], a[2]])[:-1]
    ),
    "slices": lambda xp, a, b: xp.sum(a[1:, ::2] * b[:-1, :]),
    "where": lambda xp, a, b: xp.sum(xp.where(a > 0, a**3, -a)),
    "take": lambda xp, a, b: xp.sum(xp.take(a, xp.asarray([0, 2, 0]), axis=0) ** 2),
    "sort": lambda xp, a, b: xp.sum(xp.sort(a, axis=-1) * xp.reshape(xp.arange(9, dtype=xp.float64), (3, 3))),
    "cumulative": lambda xp, a, b: xp.sum(xp.cumulative_sum(a, axis=0) ** 2),
    "det and inv": lambda xp, a, b: xp.linalg.det(a) + xp.sum(xp.linalg.inv(a)),
    "solve": lambda xp, a, b: xp.sum(xp.linalg.solve(a, b) ** 2),
    "eigvalsh": lambda xp, a, b: xp.sum(xp.linalg.eigvalsh(a + xp.matrix_transpose(a)) ** 2),
    "svd": lambda xp, a, b: xp.sum(xp.linalg.svd(b, full_matrices=False)[1] ** 3),
    "qr": lambda xp, a, b: xp.sum(xp.linalg.qr(a)[1] ** 2),
    "fft": lambda xp, a, b: xp.sum(xp.abs(xp.fft.fft(a)) ** 2),
}


def numpy_gradients(f):
    """The gradients over NumPy, which tests/ops holds to finite differences."""
    return ag.grad(lambda a, b: f(ag.numpy, a, b), argnums=(0, 1))(A, B)


@pytest.mark.parametrize("library", LIBRARIES)
def test_namespace_has_every_function_of_the_table(library):
    require(library)
    xp = getattr(ag, library)
    assert (xp.__name__, xp.__array_api_version__) == (f"arraygrad.{library}", "2025.12")
    assert set(xp.__all__) == set(ag.numpy.__all__)
    for part in ("linalg", "fft"):
        assert set(getattr(xp, part).__all__) == set(getattr(ag.numpy, part).__all__)


@pytest.mark.parametrize("library", LIBRARIES)
def test_tensors_know_their_namespace(library):
    require(library)
    t = leaf(library, [1.0])
    assert t.__array_namespace__() is getattr(ag, library) is ag.namespace(library)
    assert ag.exp(t).__array_namespace__() is getattr(ag, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_info_names_devices_and_dtypes(library):
    require(library)
    info = getattr(ag, library).__array_namespace_info__()
    assert isinstance(info.devices(), tuple)
    assert {"float32", "float64"} <= set(info.dtypes(kind="real floating"))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_over_a_library_is_that_over_numpy(library, name):
    require(library)
    f = FUNCTIONS[name]
    a, b = leaf(library, A), leaf(library, B)
    found = ag.autograd.grad(f(getattr(ag, library), a, b), [a, b], materialize_grads=True)
    for g, expected, t in zip(found, numpy_gradients(f), (a, b), strict=True):
        assert type(g.array) is type(t.array)
        assert g.dtype == t.dtype
        np.testing.assert_allclose(numpy_of(g), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["elementwise", "matmul", "solve", "det and inv", "svd"])
def test_gradient_over_torch_is_that_of_torch_autograd(name):
    torch = require("torch")
    f = FUNCTIONS[name]
    a, b = [torch.tensor(x, requires_grad=True) for x in (A, B)]
    expected = torch.autograd.grad(f(backends.raw_namespace("torch"), a, b), [a, b], allow_unused=True)
    found = ag.grad(lambda a, b: f(ag.torch, a, b), argnums=(0, 1))(raw("torch", A), raw("torch", B))
    for g, e in zip(found, expected, strict=True):
        torch.testing.assert_close(g, torch.zeros_like(g) if e is None else e)


@pytest.mark.parametrize("name", ["elementwise", "matmul", "solve", "det and inv", "svd"])
def test_gradient_over_jax_is_that_of_jax_grad(name):
    jax = require("jax")
    f = FUNCTIONS[name]
    a, b = raw("jax", A), raw("jax", B)
    expected = jax.grad(lambda a, b: f(jax.numpy, a, b), argnums=(0, 1))(a, b)
    found = ag.grad(lambda a, b: f(ag.jax, a, b), argnums=(0, 1))(a, b)
    for g, e in zip(found, expected, strict=True):
        assert isinstance(g, jax.Array)
        np.testing.assert_allclose(np.asarray(g), np.asarray(e), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("library", LIBRARIES)
def test_second_derivative_over_a_library(library):
    require(library)
    xp = getattr(ag, library)
    found = ag.hvp(lambda a: xp.sum(xp.sin(a) * a))(raw(library, A), raw(library, np.ones((3, 3))))
    np.testing.assert_allclose(numpy_of(found), 2 * np.cos(A) - A * np.sin(A), rtol=1e-10)


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_stays_single(library):
    require(library)
    t = leaf(library, [1.0, 2.0], "float32")
    ag.sum(ag.exp(t) * 2.0).backward()
    assert str(t.grad.dtype).endswith("float32")


@pytest.mark.parametrize("library", LIBRARIES)
def test_numpy_functions_run_on_the_tensors_own_library(library):
    require(library)
    t = leaf(library, [1.0, 2.0])
    assert type(np.exp(t).array) is type(t.array)


@pytest.mark.parametrize("library", LIBRARIES)
def test_importing_arraygrad_does_not_import_the_library(library):
    code = f"import sys, arraygrad; assert 'arraygrad.{library}' not in sys.modules; print({library!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("library", "extra"),
    [
        ("torch", r"arraygrad\[torch\]"),
        ("jax", r"arraygrad\[jax\]"),
        ("dask", r"arraygrad\[dask\]"),
        ("cupy", r"arraygrad\[cupy12x\] or arraygrad\[cupy13x\]"),
        ("array_api_strict", r"arraygrad\[strict\]"),
    ],
)
def test_missing_library_is_named_with_the_extra_that_brings_it(library, extra, monkeypatch):
    find = backends.importlib.util.find_spec
    monkeypatch.setattr(
        backends.importlib.util, "find_spec", lambda name, *a: None if name == library else find(name, *a)
    )
    with pytest.raises(ImportError, match=rf"arraygrad\.{library} needs {library}.*pip install {extra}"):
        backends.raw_namespace(library)
