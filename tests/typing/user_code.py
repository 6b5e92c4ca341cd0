"""What users write, for type checkers: mypy --strict and pyright accept all of it, and infer what `assert_type` says.

It runs, too (test_user_code.py). Every use is here that the documentation shows, as far as types tell something of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import arraygrad as ag
from arraygrad.autograd import Function, once_differentiable
from arraygrad.typing import Array

Vector = NDArray[np.float64]
Parameters = dict[str, Vector]


# Functions of raw arrays


def loss(w: Vector, x: Vector, y: Vector, *, weight: float = 1.0) -> np.floating[Any]:
    return np.sum((np.tanh(x @ w) - y) ** 2) * (weight / y.size)


def gradient_descent() -> Vector:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(100, 3)), np.zeros(3)
    y = np.tanh(x @ np.array([0.5, -1.0, 2.0]))
    step = ag.value_and_grad(loss)
    for _ in range(10):
        value, gradient = step(w, x, y, weight=2.0)
        assert_type(gradient, Vector)
        assert float(value) >= 0.0
        w -= 0.5 * gradient
    return w


def other_arguments() -> None:
    def error(w: Vector, x: Vector, y: Vector) -> Array:
        return np.mean((np.tanh(x @ w) - y) ** 2)

    w, x, y = np.ones(3), np.ones((2, 3)), np.ones(2)
    assert_type(ag.grad(error)(w, x, y), Vector)
    assert_type(ag.grad(error, 1)(w, x, y), Vector)
    assert_type(ag.grad(error, argnums=(0, 1))(w, x, y), tuple[Vector, Vector])
    last = ag.grad(error, argnums=2)(w, x, y)
    assert last.shape == (2,)


def scalars() -> None:
    def cube(x: float) -> float:
        return x * x * x

    assert_type(ag.grad(cube)(2.0), float)
    assert_type(ag.grad(ag.grad(cube))(2.0), float)
    assert_type(ag.value_and_grad(cube)(2.0), tuple[float, float])
    assert ag.grad(lambda x: x * x)(3.0) == 6.0


def containers() -> None:
    def model(p: Parameters, x: Vector) -> np.floating[Any]:
        return np.sum(np.tanh(x @ p["w"] + p["b"]))

    gradient = ag.grad(model)({"w": np.ones(3), "b": np.zeros(())}, np.ones((2, 3)))
    assert_type(gradient, Parameters)
    assert sorted(gradient) == ["b", "w"]


def auxiliary() -> None:
    def with_prediction(w: Vector, x: Vector) -> tuple[np.floating[Any], Vector]:
        prediction: Vector = x @ w
        return np.sum(prediction**2), prediction

    gradient, prediction = ag.grad(with_prediction, has_aux=True)(np.ones(3), np.ones((2, 3)))
    assert_type(gradient, Vector)
    assert_type(prediction, Vector)
    (value, again), same = ag.value_and_grad(with_prediction, has_aux=True)(np.ones(3), np.ones((2, 3)))
    assert_type(again, Vector)
    assert_type(same, Vector)
    assert float(value) == 18.0


def matrices() -> None:
    def rotate(x: Vector, angle: float) -> Vector:
        return np.array([np.cos(angle), np.sin(angle)]) * x

    def energy(x: Vector) -> Array:
        return np.sum(x**4)

    def wave(x: Vector) -> Vector:
        return np.sin(x)

    x = np.array([1.0, 2.0])
    assert_type(ag.jacobian(rotate)(x, 0.5), Vector)
    assert_type(ag.jacfwd(rotate)(x, angle=0.5), Vector)
    assert_type(ag.hessian(energy)(x), Vector)
    assert_type(ag.hvp(energy)(x, np.ones(2)), Vector)
    assert_type(ag.elementwise_grad(wave)(x), Vector)


def products() -> None:
    def f(x: Vector, y: Vector) -> Vector:
        return x * np.sin(y)

    x: Vector = np.array([1.0, 2.0])
    y: Vector = np.array([3.0, 4.0])
    value, pull = ag.vjp(f, x, y)
    assert_type(value, Vector)
    assert_type(pull(value), tuple[Vector, Vector])
    value, tangent = ag.jvp(f, (x, y), (x, y))
    assert_type(tangent, Vector)
    value, push = ag.linearize(f, x, y)
    assert_type(push(x, y), Vector)


def numpys_functions() -> None:
    gradient = ag.elementwise_grad(np.sin)
    assert gradient(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    ag.grad(lambda x: np.sum(x))(np.ones(2))


def any_library(x: Array) -> Array:
    gradient: Callable[[Array], Array] = ag.grad(total)
    return gradient(x)


def total(x: Array) -> ag.Tensor:
    return ag.sum(x)


# Tensors, step by step


def tensors() -> None:
    x = ag.tensor([0.5, 0.75], requires_grad=True)
    y = ag.exp(x) * 2.0 + x * np.ones(2) - 1 / x
    assert_type(y, ag.Tensor)
    assert_type(y.sum(), ag.Tensor)
    assert_type(x[0], ag.Tensor)
    assert_type(y.shape, tuple[int, ...])
    y.sum().backward()
    assert_type(x.grad, ag.Tensor | Any)  # None before backward, which nobody has to ask for
    assert x.grad is not None
    values: Vector = x.grad.numpy()
    x.grad = None
    with ag.no_grad():
        x -= 0.1 * values
    z = np.sin(x)
    z.sum().backward()


def arrays_beside_tensors() -> None:
    array = np.array([1.0, 2.0])
    x = ag.asarray(array, requires_grad=True)
    assert_type(x * array, ag.Tensor)
    assert_type(2.0 * x, ag.Tensor)
    # NumPy's stubs take a Tensor for an array of objects: these are Any.
    (array * x).sum().backward()
    (array @ x).backward()
    ((array - x) ** 2).mean().backward()
    assert_type(ag.where(x > 0, x, 0.0), ag.Tensor)
    values: Vector = x.numpy()
    assert values.shape == array.shape


def numpys_functions_of_tensors() -> None:
    array = np.array([1.0, 2.0])
    x = ag.asarray(array, requires_grad=True)
    matrix = ag.tensor([[2.0, 0.0], [0.0, 2.0]], requires_grad=True)
    total: ag.Tensor = np.sum(x * array)
    total.backward()
    np.sum(x).backward()
    np.max(x).backward()
    np.sum(matrix, axis=0).sum().backward()
    np.mean(x).backward()
    np.prod(x).backward()
    np.var(x).backward()
    np.dot(x, array).backward()
    np.dot(array, x).backward()
    np.matmul(matrix, x).sum().backward()
    np.einsum("ij,j->", matrix, x).backward()
    np.stack([x, x]).sum().backward()
    np.concatenate([x, array]).sum().backward()
    np.where(array > 1.5, x, 0.0).sum().backward()
    np.where(x > 1.5, x, x * x).sum().backward()
    np.outer(x, array).sum().backward()
    np.reshape(x, (2, 1)).sum().backward()
    np.transpose(matrix).sum().backward()
    np.cumsum(x).sum().backward()
    np.diff(x).sum().backward()
    np.clip(x, 0.0, 1.5).sum().backward()
    np.maximum(x, 0.0).sum().backward()
    np.tensordot(matrix, x, axes=1).sum().backward()


def namespace_in_numpys_place() -> None:
    import arraygrad.numpy as anp

    x = anp.array([0.5, 1.5])
    assert_type(x, ag.Tensor)
    assert_type(anp.linalg.norm(x), ag.Tensor)
    assert_type(anp.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 4.0]), ag.Tensor)
    assert_type(anp.vstack([x, x]), ag.Tensor)
    assert_type(anp.allclose(x, x), bool)
    assert_type(anp.split(x, 2), list[ag.Tensor])


def functions_without_annotations() -> None:
    gradient = ag.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    assert gradient.tolist() == [2.0, 4.0]
    value, slope = ag.value_and_grad(lambda x: x**2)(3.0)
    assert (value, slope) == (9.0, 6.0)
    slopes = ag.jacobian(lambda x: x**2 * x.sum())(np.ones(2))
    assert slopes.shape == (2, 2)
    curvature = ag.hessian(lambda x: np.sum(x**3))(np.ones(2))
    assert curvature.shape == (2, 2)


def gradients_of_tensors() -> None:
    x = ag.tensor(3.0, requires_grad=True)
    (first,) = ag.autograd.grad(x**3, x, create_graph=True)
    assert_type(first, ag.Tensor)
    (second,) = ag.autograd.grad(first, [x])
    assert second.item() == 18.0
    named = ag.autograd.grad(x**2, {"x": x})
    assert_type(named, dict[str, ag.Tensor])
    unused = ag.autograd.grad(x**2, [x, ag.tensor(1.0, requires_grad=True)], allow_unused=True)
    assert_type(unused, tuple[ag.Tensor | None, ...])


def hooks() -> None:
    def double(gradient: ag.Tensor) -> ag.Tensor:
        return gradient * 2.0

    x = ag.tensor([1.0], requires_grad=True)
    handle = x.register_hook(double)
    (x * 3.0).sum().backward()
    handle.remove()


# Functions with a backward of one's own


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
        (x,) = ctx.saved_tensors
        result: ag.Tensor = g * 3.0 * x**2
        return result


class Scale(Function):
    @staticmethod
    def forward(x: ag.Tensor, factor: float) -> ag.Tensor:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[ag.Tensor, float], output: ag.Tensor) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: ag.Tensor) -> tuple[ag.Tensor, None]:
        return g * ctx.factor, None


def own_functions() -> None:
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y: ag.Tensor = Scale.apply(Cube.apply(x), 2.0)
    y.sum().backward()


@ag.primitive
def log1p(x: Vector) -> Vector:
    return np.log1p(x)


log1p.defvjp(lambda ans, x: lambda g: g / (1.0 + x))


def primitives() -> None:
    assert_type(log1p(np.zeros(2)), Vector)
    assert ag.elementwise_grad(log1p)(np.zeros(2)).tolist() == [1.0, 1.0]


# Decorators keep the types of what they decorate


@ag.no_grad()
def evaluate(x: ag.Tensor, scale: float = 1.0) -> ag.Tensor:
    return x * scale


@ag.inference_mode()
def evaluate_too(x: ag.Tensor) -> ag.Tensor:
    return x * 2.0


@ag.checkpoint
def layer(x: ag.Tensor, w: ag.Tensor) -> ag.Tensor:
    return ag.tanh(x @ w)


def decorated() -> None:
    x = ag.tensor([[1.0]], requires_grad=True)
    assert_type(evaluate(x, scale=2.0), ag.Tensor)
    assert_type(evaluate_too(x), ag.Tensor)
    assert_type(layer(x, x), ag.Tensor)
    assert_type(ag.stop_gradient(x), ag.Tensor)


# A step as a CUDA graph: checked, not run


def captured(x: ag.Tensor, w: ag.Tensor, batches: list[Vector]) -> None:
    with ag.cupy.capture() as graph:
        (gradient,) = ag.autograd.grad(ag.sum(x * w), w)
        with ag.no_grad():
            w -= 0.1 * gradient
    for batch in batches:
        x[...] = batch
        graph.launch()


# SciPy


def scipys_functions() -> None:
    from arraygrad.scipy import special, stats

    x = ag.tensor([0.5, 1.5], requires_grad=True)
    likelihood = stats.norm.logpdf(x, loc=0.0, scale=1.0).sum() + special.gammaln(x).sum()
    assert_type(likelihood, ag.Tensor)
    likelihood.backward()
    assert_type(special.expit(x), ag.Tensor)
    assert_type(stats.norm.cdf(x), ag.Tensor)
