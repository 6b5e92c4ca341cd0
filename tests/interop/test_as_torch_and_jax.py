"""Functions of arraygrad inside PyTorch's and JAX's graphs; what is raised where a library is missing.

Imports the public names of arraygrad.
"""

import subprocess
import sys

import numpy as np
import pytest
from libraries import require

import arraygrad as ag
from arraygrad import interop

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(3, 3)), RNG.normal(size=3)


def function(x, y):
    """Two results, in the functions of whatever library the arguments are of."""
    xp = x.__array_namespace__()
    return xp.sum(xp.tanh(x) @ y), xp.exp(y)


# -- PyTorch -----------------------------------------------------------------------------------------------------------


def parameters(torch):
    return torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=True)


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_as_torch_passes_torchs_own_gradient_checks(library):
    torch = require("torch")
    f = interop.as_torch(function, library)
    assert torch.autograd.gradcheck(f, parameters(torch))
    assert torch.autograd.gradgradcheck(f, parameters(torch))


def test_as_torch_stands_inside_a_torch_graph():
    torch = require("torch")
    f = interop.as_torch(lambda x: np.tanh(x) * x, "numpy")
    x = torch.tensor(Y, requires_grad=True)
    (f(x * 2) ** 2).sum().backward()
    z = torch.tensor(Y, requires_grad=True)
    ((torch.tanh(z * 2) * z * 2) ** 2).sum().backward()
    torch.testing.assert_close(x.grad, z.grad)


def test_as_torch_keeps_dtype_and_structure():
    torch = require("torch")
    f = interop.as_torch(lambda p, scale=1.0: {"y": p["x"] * scale, "s": p["x"].sum()})
    x = torch.ones(2, dtype=torch.float32, requires_grad=True)
    r = f({"x": x}, scale=3.0)
    assert r["y"].dtype is torch.float32
    (r["y"].sum() + r["s"]).backward()
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [4.0, 4.0]


def test_as_torch_without_grad_records_nothing():
    torch = require("torch")
    f = interop.as_torch(lambda x: x * 2.0)
    assert not f(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not f(torch.ones(2, requires_grad=True)).requires_grad


def test_as_torch_integer_results_have_no_gradient():
    torch = require("torch")
    f = interop.as_torch(lambda x: (ag.argmax(x), x * 2.0))
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    best, double = f(x)
    assert not best.requires_grad
    double.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_as_torch_notices_overwritten_arguments():
    torch = require("torch")
    x = torch.ones(2, requires_grad=True)
    y = x * 1.0
    z = interop.as_torch(lambda v: v * v)(y)
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_as_torch_lets_the_function_write_into_its_arguments():
    torch = require("torch")

    def f(x):
        x[0] = x[1] * 5.0
        return x

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    interop.as_torch(f)(x).sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]
    assert x.tolist() == [1.0, 2.0]


def test_as_torch_says_what_is_no_array():
    torch = require("torch")

    def describe(x):
        return "text"

    with pytest.raises(TypeError, match="as_torch: 'describe' returned str"):
        interop.as_torch(describe)(torch.ones(1, requires_grad=True))


# -- JAX ---------------------------------------------------------------------------------------------------------------


def reference(jnp):
    def scalar(x, y):
        return jnp.sum(jnp.tanh(x) @ y) + (jnp.exp(y) ** 2).sum()

    return scalar


def ours(x, y):
    s, e = interop.as_jax(function)(x, y)
    return s + (e**2).sum()


@pytest.mark.parametrize("jitted", [False, True])
def test_as_jax_has_the_gradient_of_the_same_function_in_jax(jitted):
    jax = require("jax")
    found, expected = [jax.grad(f, argnums=(0, 1)) for f in (ours, reference(jax.numpy))]
    found = jax.jit(found) if jitted else found
    for g, e in zip(found(X, Y), expected(X, Y), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12)


def test_as_jax_has_second_derivatives():
    jax = require("jax")
    found, expected = [jax.jacrev(jax.grad(f, argnums=1), argnums=1)(X, Y) for f in (ours, reference(jax.numpy))]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_as_jax_under_vmap():
    jax = require("jax")
    found = jax.vmap(ours)(np.stack([X, 2 * X]), np.stack([Y, Y]))
    np.testing.assert_allclose(found, [reference(jax.numpy)(X, Y), reference(jax.numpy)(2 * X, Y)])


def test_as_jax_takes_integers_without_a_gradient():
    jax = require("jax")
    f = interop.as_jax(lambda x, n: ag.sum(x * n))
    g = jax.grad(f)(np.array([1.0, 2.0]), np.array([3, 4]))
    assert g.tolist() == [3.0, 4.0]


def test_as_jax_complex_gradients_are_jaxs():
    jax = require("jax")
    f = interop.as_jax(lambda z: ag.sum(ag.real(z * z)))
    z = np.array([1.0 + 2.0j])
    expected = jax.grad(lambda z: (z * z).real.sum())(z)
    np.testing.assert_allclose(jax.grad(f)(z), expected)


def test_as_jax_results_of_other_shapes_than_announced_are_refused():
    jax = require("jax")
    f = interop.as_jax(lambda x: x, result=jax.ShapeDtypeStruct((5,), np.float64))
    with pytest.raises(Exception, match=r"returned an array of shape \(2,\) where \(5,\) was announced"):
        jax.block_until_ready(f(np.ones(2)))


def test_as_jax_refuses_jax_inside_its_callbacks():
    with pytest.raises(ValueError, match="may deadlock"):
        interop.as_jax(abs, library="jax")


def test_tracer_is_refused_with_the_way_out():
    jax = require("jax")
    with pytest.raises(TypeError, match=r"stands for an array while JAX transforms.*as_jax"):
        jax.jit(lambda v: ag.asarray(v).array)(X)


# -- without the libraries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "library"), [("from_torch", "torch"), ("as_torch", "torch"), ("from_jax", "jax"), ("as_jax", "jax")]
)
def test_missing_library_is_named_with_its_extra(name, library, monkeypatch):
    monkeypatch.setattr(interop.functions.importlib.util, "find_spec", lambda *args: None)
    with pytest.raises(ImportError, match=rf"interop\.{name} needs {library}.*arraygrad\[{library}\]"):
        getattr(interop, name)(abs)


@pytest.mark.parametrize("name", ["from_torch", "as_torch", "from_jax", "as_jax"])
def test_what_is_no_function_is_refused(name):
    with pytest.raises(TypeError, match=f"{name}: expected a function, got int"):
        getattr(interop, name)(3)


def test_an_error_on_ones_names_the_result_argument():
    jax = require("jax")
    f = ag.interop.as_jax(lambda x: np.sum(np.linalg.inv(x)))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(4 * jax.numpy.eye(2))
    assert "result=jax.ShapeDtypeStruct" in caught.value.__notes__[0]
    f = ag.interop.as_jax(lambda x: np.sum(np.linalg.inv(x)), result=jax.ShapeDtypeStruct((), np.float64))
    assert f(4 * jax.numpy.eye(2)) == 0.5


def test_a_hessian_in_jax_is_jacrev_of_jacrev():
    jax = require("jax")
    f = ag.interop.as_jax(lambda x: np.sum(x**3))
    x = jax.numpy.array([1.0, 2.0])
    np.testing.assert_allclose(jax.jacrev(jax.jacrev(f))(x), np.diag([6.0, 12.0]))


def test_the_first_array_of_jax_may_be_seen_while_jax_traces():
    require("jax")
    program = """
import jax, numpy as np, arraygrad as ag
jax.config.update("jax_enable_x64", True)
try:
    jax.jit(ag.sum)(jax.numpy.ones(1))
except TypeError:
    print("refused")
print(ag.grad(lambda x: ag.sum(x**2))(jax.numpy.ones(1)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused", "[2.0]"]
