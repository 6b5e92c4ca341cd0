"""Functions of PyTorch and JAX as nodes of our graph.

Imports the public names of arraygrad.
"""

import gc
import weakref

import numpy as np
import pytest
from libraries import leaf, numpy_of, require

import arraygrad as ag

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(3, 3)), RNG.normal(size=3)


def torch_function(x, y):
    torch = require("torch")
    return {"a": torch.sin(x) @ y, "b": (x * x).sum(), "n": 3}


def jax_function(x, y):
    jnp = require("jax").numpy
    return {"a": jnp.sin(x) @ y, "b": (x * x).sum(), "n": 3}


def wrap(library, f=None):
    """from_torch or from_jax of a function, that of the module by default."""
    require(library)
    if library == "torch":
        return ag.interop.from_torch(f or torch_function)
    return ag.interop.from_jax(f or jax_function)


def leaves():
    return ag.tensor(X, requires_grad=True), ag.tensor(Y, requires_grad=True)


def scalar(f):
    """A scalar of both results of f."""

    def g(x, y):
        r = f(x, y)
        return (r["a"] ** 2).sum() + r["b"]

    return g


@pytest.fixture(params=["torch", "jax"])
def library(request):
    require(request.param)
    return request.param


def test_results_keep_their_structure_and_come_home(library):
    result = wrap(library)(*leaves())
    assert sorted(result) == ["a", "b", "n"]
    assert result["n"] == 3
    assert result["a"].__array_namespace__() is ag.numpy
    np.testing.assert_allclose(result["a"].numpy(), np.sin(X) @ Y)


def test_gradient_is_that_of_the_formula(library):
    x, y = leaves()
    r = wrap(library)(x, y)
    gx, gy = ag.autograd.grad([r["a"].sum(), r["b"]], [x, y])
    np.testing.assert_allclose(gx.numpy(), np.cos(X) * Y + 2 * X, rtol=1e-12)
    np.testing.assert_allclose(gy.numpy(), np.sin(X).sum(axis=0), rtol=1e-12)


def test_gradients_equal_finite_differences(library):
    assert ag.gradcheck(scalar(wrap(library)), leaves())


def test_second_derivatives_equal_finite_differences(library):
    assert ag.gradgradcheck(scalar(wrap(library)), leaves())


def test_every_order_of_derivatives(library):
    f = wrap(library, lambda v: v**4)
    x = ag.tensor([2.0], requires_grad=True)
    g, found = f(x), []
    for _ in range(4):
        (g,) = ag.autograd.grad(g.sum(), x, create_graph=True)
        found.append(g.item())
    assert found == pytest.approx([32.0, 48.0, 48.0, 24.0])


def test_gradients_equal_the_librarys_own(library):
    x, y = leaves()
    found = ag.autograd.grad(scalar(wrap(library))(x, y), [x, y])
    if library == "torch":
        torch = require("torch")
        a, b = [torch.tensor(v, requires_grad=True) for v in (X, Y)]
        expected = torch.autograd.grad(scalar(torch_function)(a, b), [a, b])
    else:
        expected = require("jax").grad(scalar(jax_function), argnums=(0, 1))(X, Y)
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g.numpy(), np.asarray(e), rtol=1e-12)


def test_complex_gradients_follow_one_convention(library):
    f = wrap(library, lambda z: (z * z).real.sum())
    z = ag.tensor([1.0 + 2.0j], requires_grad=True)
    (g,) = ag.autograd.grad(f(z), z)
    assert g.tolist() == [2.0 - 4.0j]


def test_containers_of_arguments(library):
    f = wrap(library, lambda p, *, k: (p["w"][0] * p["w"][1]).sum() * k)
    w = [ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor([3.0, 4.0], requires_grad=True)]
    f({"w": w}, k=10.0).backward()
    assert w[0].grad.tolist() == [30.0, 40.0]
    assert w[1].grad.tolist() == [10.0, 20.0]


def test_arrays_of_the_library_itself_stay_there(library):
    x = leaf(library, [1.0, 2.0])
    y = wrap(library, lambda v: v * v)(x)
    assert y.__array_namespace__() is getattr(ag, library)
    ag.sum(y).backward()
    assert numpy_of(x.grad).tolist() == [2.0, 4.0]


def test_single_precision_stays_single(library):
    x = ag.tensor(np.ones(2, dtype=np.float32), requires_grad=True)
    y = wrap(library, lambda v: v * v)(x)
    assert y.dtype == np.float32
    y.sum().backward()
    assert x.grad.dtype == np.float32


def test_argument_without_influence_has_no_gradient(library):
    x, y = leaves()
    r = wrap(library, lambda x, y: (x * x).sum())(x, y)
    gx, gy = ag.autograd.grad(r, [x, y], allow_unused=True)
    np.testing.assert_allclose(gx.numpy(), 2 * X)
    assert gy is None or not gy.numpy().any()


def test_integer_results_have_no_gradient(library):
    x = ag.tensor([1.0, 3.0], requires_grad=True)
    best, total = wrap(library, lambda v: (v.argmax(), v.sum()))(x)
    assert not best.requires_grad
    assert int(best) == 1
    total.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_no_grad_records_nothing(library):
    x, y = leaves()
    with ag.no_grad():
        assert not wrap(library)(x, y)["a"].requires_grad


def test_overwritten_argument_gives_the_gradient_of_what_it_was(library):
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    b = x * 1.0
    y = wrap(library, lambda v: v**2)(b)
    b[0] = 100.0
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_second_backward_through_a_freed_graph_raises(library):
    x = ag.tensor([1.0], requires_grad=True)
    y = wrap(library, lambda v: v**2)(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_retained_graph_runs_again(library):
    x = ag.tensor([1.0], requires_grad=True)
    y = wrap(library, lambda v: v**2)(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_graph_is_freed_without_the_collector(library):
    x = leaf(library, [1.0, 2.0])
    f = wrap(library, lambda v: v**2)
    f(x)
    gc.collect()
    gc.disable()
    try:
        node = weakref.ref(f(x).grad_fn)
        assert node() is None
    finally:
        gc.enable()


def test_transforms_take_wrapped_functions(library):
    f = wrap(library, lambda v: (v**3).sum())
    np.testing.assert_allclose(ag.grad(f)(Y), 3 * Y**2)
    np.testing.assert_allclose(ag.hessian(f)(Y), np.diag(6 * Y), atol=1e-12)


# -- PyTorch's other tensors -------------------------------------------------------------------------------------------


def linear():
    torch = require("torch")
    torch.manual_seed(0)
    return torch.nn.Linear(3, 1).double()


def test_parameters_that_are_no_arguments_are_refused():
    module = linear()
    with pytest.raises(TypeError, match=r"uses 2 torch tensors that require grad.*functional_call.*accumulate"):
        ag.interop.from_torch(module)(ag.tensor(X, requires_grad=True))


def test_parameters_accumulate_where_that_is_asked_for():
    module = linear()
    x = ag.tensor(X, requires_grad=True)
    ag.interop.from_torch(module, others="accumulate")(x).sum().backward()
    np.testing.assert_allclose(module.weight.grad.numpy(), X.sum(axis=0)[None])
    np.testing.assert_allclose(x.grad.numpy(), np.tile(module.weight.detach().numpy(), (3, 1)))


def test_parameters_as_arguments():
    torch = require("torch")
    module = linear()
    f = ag.interop.from_torch(lambda p, x: torch.func.functional_call(module, p, x).sum())
    parameters = {name: ag.tensor(p.detach().numpy()) for name, p in module.named_parameters()}
    found = ag.grad(f)({name: p.numpy() for name, p in parameters.items()}, X)
    np.testing.assert_allclose(found["weight"], X.sum(axis=0)[None])
    assert found["bias"].tolist() == [3.0]


def test_unknown_choice_for_others_is_refused():
    require("torch")
    with pytest.raises(ValueError, match="others must be"):
        ag.interop.from_torch(abs, others="maybe")


def torch_sine(backward, decorate=lambda f: f):
    torch = require("torch")

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach()
            return torch.sin(x)

    Sine.backward = staticmethod(decorate(backward))
    return ag.interop.from_torch(Sine.apply)


@pytest.fixture(params=["once_differentiable", "detached"])
def unrecorded(request):
    torch = require("torch")
    if request.param == "detached":
        return torch_sine(lambda ctx, g: g.detach() * ctx.x.cos())
    return torch_sine(lambda ctx, g: g * ctx.x.cos(), torch.autograd.function.once_differentiable)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: ag.hessian(lambda x: ag.sum(f(x)))(Y),
        lambda f: ag.hessian(lambda x: ag.sum(f(x) * x))(Y),
        lambda f: ag.jvp(f, (Y,), (Y,)),
        lambda f: ag.jacfwd(lambda x: f(x) + x)(Y),
    ],
    ids=["hessian", "hessian of a product", "jvp", "jacfwd of a sum"],
)
def test_a_torch_function_whose_backward_is_not_recorded_is_differentiated_once(unrecorded, derivative):
    np.testing.assert_allclose(ag.jacrev(unrecorded)(Y), np.diag(np.cos(Y)))
    with pytest.raises(RuntimeError, match=r"torch\.autograd\.Function in it .* no second derivative"):
        derivative(unrecorded)


def test_a_step_function_of_torch_keeps_its_zero_derivative():
    f = ag.interop.from_torch(require("torch").round)
    np.testing.assert_allclose(ag.jvp(lambda x: f(x) * x, (Y,), (np.ones(3),))[1], np.round(Y))
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(f(x) * x * x))(Y), np.diag(2 * np.round(Y)))


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.filterwarnings("error")
def test_constants_warn_and_gradients_that_are_zero_do_not(library):
    if library == "torch":
        torch = require("torch")
        cut, flat = (lambda x: x.detach().sum()), (lambda x: torch.relu(x).sum())
    else:
        jax = require("jax")
        cut, flat = (lambda x: jax.lax.stop_gradient(x).sum()), (lambda x: jax.nn.relu(x).sum())
    x = -np.ones(3, np.float32)
    with pytest.warns(UserWarning, match="do not depend on its arguments"):
        assert not ag.grad(wrap(library, cut))(x).any()
    assert not ag.grad(wrap(library, flat))(x).any()  # zero here, and not everywhere
    assert not wrap(library, cut)(x) > 0  # nothing is differentiated
    np.testing.assert_array_equal(ag.grad(lambda x: np.sum(x) + wrap(library, cut)(ag.stop_gradient(x)))(x), 1.0)
