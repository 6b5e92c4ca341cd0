"""The libraries that are compared: how each takes a gradient, and the few functions that each spells its own way.

Every formula is written once against `library.xp` (arraygrad.numpy, torch, jax.numpy, autograd.numpy, mygrad, numpy)
and the methods here; a library's users would write the same. Leaves and constants are made outside the timed run.
May import: numpy; the libraries themselves on construction only.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Library:
    """One differentiating library. Subclasses say how; the defaults are plain NumPy's spelling."""

    name = ""
    module = ""  # what must be importable

    def __init__(self) -> None:
        self.xp: Any = None

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec(cls.module) is not None

    def constant(self, raw: np.ndarray) -> Any:
        """A raw array as this library's users pass one that needs no gradient."""
        return raw

    def leaf(self, raw: np.ndarray) -> Any:
        """A variable that requires grad (tape libraries only)."""
        raise TypeError(f"{self.name} has no variables of its own")

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        """Forward and backward of f as a function without arguments that returns [value, *gradients]."""
        raise TypeError(f"{self.name} takes no gradients")

    def hessian_vector(
        self, f: Callable[..., Any], leaves: Sequence[np.ndarray], vectors: Sequence[np.ndarray]
    ) -> Callable:
        """Hessian of the scalar f times `vectors`, as a function that returns [value, *products]."""
        raise TypeError(f"{self.name} takes no second derivatives")

    def function(self, f: Callable[..., Any], leaves: Sequence[np.ndarray]) -> Callable:
        """Value and gradient of a function in terms of `plain`, as a function that returns [value, *gradients]."""
        raise TypeError(f"{self.name} has no transform of functions")

    def matrix(self, kind: str, f: Callable[..., Any], leaf: np.ndarray) -> Callable:
        """The "hessian" or "jacobian" of f as a function that returns [the matrix]."""
        raise TypeError(f"{self.name} takes no {kind}")

    @property
    def plain(self) -> Any:
        """What plain NumPy code has for `numpy`."""
        return self.xp

    def to_numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def relu(self, x: Any) -> Any:
        return self.xp.maximum(x, 0)

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        e = self.xp.exp(x - self.xp.max(x, axis=-1, keepdims=True))
        return e / self.xp.sum(e, axis=-1, keepdims=True)

    def logsumexp(self, x: Any, axis: int) -> Any:
        most = self.xp.max(x, axis=axis, keepdims=True)
        return self.xp.log(self.xp.sum(self.xp.exp(x - most), axis=axis)) + self.xp.max(x, axis=axis)

    def windows(self, x: Any, width: int) -> Any:
        """All windows of `width` neighbours of a vector, one a row."""
        n = x.shape[0] - width + 1
        return self.xp.stack([x[j : j + n] for j in range(width)], axis=-1)

    def pad(self, x: Any) -> Any:
        """A vector with a zero at either end."""
        return self.xp.pad(x, 1)

    def segment_sum(self, rows: Any, segment: np.ndarray, count: int) -> Any:
        """Rows added to `count` sums, each to the one that `segment` names."""
        raise TypeError(f"{self.name} adds nothing at places")

    def sort(self, x: Any) -> Any:
        return self.xp.sort(x)

    def erf(self, x: Any) -> Any:
        raise TypeError(f"{self.name} has no erf")

    def sigmoid(self, x: Any) -> Any:
        return 0.5 * (self.xp.tanh(0.5 * x) + 1.0)

    def concat(self, pieces: Sequence[Any]) -> Any:
        return self.xp.concatenate(pieces)

    def diagonal(self, x: Any) -> Any:
        return self.xp.linalg.diagonal(x)

    def log_softmax(self, x: Any) -> Any:
        """Over axis 1 of a matrix."""
        shifted = x - self.xp.max(x, axis=1, keepdims=True)
        return shifted - self.xp.log(self.xp.sum(self.xp.exp(shifted), axis=1, keepdims=True))


class Plain(Library):
    """NumPy itself: evaluates a formula without any gradient. The tests take finite differences of it."""

    name, module = "numpy", "numpy"

    def __init__(self) -> None:
        self.xp = np

    def segment_sum(self, rows: Any, segment: np.ndarray, count: int) -> Any:
        sums = np.zeros((count, *rows.shape[1:]), rows.dtype)
        np.add.at(sums, segment, rows)
        return sums

    def erf(self, x: Any) -> Any:
        from scipy.special import erf

        return erf(x)


class Arraygrad(Library):
    """`leaf.grad = None`, the formula on Tensors with raw arrays as constants, `result.backward(seed)`, `leaf.grad`."""

    name, module = "arraygrad", "arraygrad"

    def __init__(self) -> None:
        import arraygrad
        import arraygrad.numpy

        self.ag = arraygrad
        self.xp = arraygrad.numpy

    def leaf(self, raw: np.ndarray) -> Any:
        return self.ag.tensor(raw, requires_grad=True)

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        variables = [self.leaf(a) for a in leaves]
        g = None if seed is None else self.ag.asarray(seed)

        def run() -> list[Any]:
            for v in variables:
                v.grad = None
            y = f(*variables)
            y.backward(g)
            return [y, *[v.grad for v in variables]]

        return run

    def hessian_vector(
        self, f: Callable[..., Any], leaves: Sequence[np.ndarray], vectors: Sequence[np.ndarray]
    ) -> Callable:
        variables = [self.leaf(a) for a in leaves]
        vectors = [self.ag.asarray(v) for v in vectors]
        grad = self.ag.autograd.grad

        def run() -> list[Any]:
            y = f(*variables)
            gradients = grad(y, variables, create_graph=True)
            return [y, *grad(gradients, variables, grad_outputs=vectors)]

        return run

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.numpy() if isinstance(result, self.ag.Tensor) else np.asarray(result)

    def concat(self, pieces: Sequence[Any]) -> Any:
        return self.xp.concat(pieces)

    def sigmoid(self, x: Any) -> Any:
        return self.xp.sigmoid(x)

    def log_softmax(self, x: Any) -> Any:
        return self.xp.log_softmax(x, axis=1)

    def function(self, f: Callable[..., Any], leaves: Sequence[np.ndarray]) -> Callable:
        together = self.ag.value_and_grad(f, argnums=tuple(range(len(leaves))))

        def run() -> list[Any]:
            value, gradients = together(*leaves)
            return [value, *gradients]

        return run

    def matrix(self, kind: str, f: Callable[..., Any], leaf: np.ndarray) -> Callable:
        transformed = getattr(self.ag, kind)(f)
        return lambda: [transformed(leaf)]

    @property
    def plain(self) -> Any:
        return np

    def softmax(self, x: Any) -> Any:
        return self.xp.softmax(x, axis=-1)

    def logsumexp(self, x: Any, axis: int) -> Any:
        return self.xp.logsumexp(x, axis=axis)

    def windows(self, x: Any, width: int) -> Any:
        return np.lib.stride_tricks.sliding_window_view(x, width)

    def segment_sum(self, rows: Any, segment: np.ndarray, count: int) -> Any:
        sums = self.xp.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
        np.add.at(sums, segment, rows)
        return sums

    def erf(self, x: Any) -> Any:
        return self.ag.special.erf(x)


class Torch(Library):
    """PyTorch on one thread. Its own relu, sigmoid and log_softmax."""

    name, module = "torch", "torch"

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self.xp = torch

    def constant(self, raw: np.ndarray) -> Any:
        return self.xp.from_numpy(raw)

    def leaf(self, raw: np.ndarray) -> Any:
        return self.xp.from_numpy(raw.copy()).requires_grad_()

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        variables = [self.leaf(a) for a in leaves]
        g = None if seed is None else self.constant(seed)

        def run() -> list[Any]:
            for v in variables:
                v.grad = None
            y = f(*variables)
            y.backward(g)
            return [y, *[v.grad for v in variables]]

        return run

    def hessian_vector(
        self, f: Callable[..., Any], leaves: Sequence[np.ndarray], vectors: Sequence[np.ndarray]
    ) -> Callable:
        variables = [self.leaf(a) for a in leaves]
        vectors = [self.constant(v) for v in vectors]
        grad = self.xp.autograd.grad

        def run() -> list[Any]:
            y = f(*variables)
            gradients = grad(y, variables, create_graph=True)
            return [y, *grad(gradients, variables, grad_outputs=vectors)]

        return run

    def to_numpy(self, result: Any) -> np.ndarray:
        return result.detach().numpy()

    def relu(self, x: Any) -> Any:
        return self.xp.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.xp.sigmoid(x)

    def log_softmax(self, x: Any) -> Any:
        return self.xp.log_softmax(x, dim=1)

    def matrix(self, kind: str, f: Callable[..., Any], leaf: np.ndarray) -> Callable:
        transformed = getattr(self.xp.func, kind if kind == "hessian" else "jacrev")(f)
        x = self.constant(leaf)
        return lambda: [transformed(x)]

    def softmax(self, x: Any) -> Any:
        return self.xp.softmax(x, dim=-1)

    def logsumexp(self, x: Any, axis: int) -> Any:
        return self.xp.logsumexp(x, dim=axis)

    def windows(self, x: Any, width: int) -> Any:
        return x.unfold(0, width, 1)

    def pad(self, x: Any) -> Any:
        return self.xp.nn.functional.pad(x, (1, 1))

    def segment_sum(self, rows: Any, segment: np.ndarray, count: int) -> Any:
        sums = self.xp.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
        return sums.index_add(0, self.constant(segment), rows)

    def sort(self, x: Any) -> Any:
        return self.xp.sort(x).values

    def erf(self, x: Any) -> Any:
        return self.xp.erf(x)


class Autograd(Library):
    """HIPS autograd: make_vjp, which runs the forward, then the vjp. Several leaves travel as one tuple."""

    name, module = "autograd", "autograd"

    def __init__(self) -> None:
        import autograd.numpy

        import autograd

        self.autograd = autograd
        self.xp = autograd.numpy

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        make_vjp = self.autograd.make_vjp
        if len(leaves) == 1:
            one = make_vjp(f)
            leaf = leaves[0]

            def run() -> list[Any]:
                vjp, y = one(leaf)
                return [y, vjp(np.ones_like(y) if seed is None else seed)]

        else:
            several = make_vjp(lambda packed: f(*packed))
            leaves = tuple(leaves)

            def run() -> list[Any]:
                vjp, y = several(leaves)
                return [y, *vjp(np.ones_like(y) if seed is None else seed)]

        return run

    def hessian_vector(
        self, f: Callable[..., Any], leaves: Sequence[np.ndarray], vectors: Sequence[np.ndarray]
    ) -> Callable:
        value_and_grad = self.autograd.value_and_grad(lambda packed: f(*packed))
        make_vjp = self.autograd.make_vjp
        leaves, vectors = tuple(leaves), tuple(vectors)
        values = []

        def gradient(packed: Any) -> Any:
            values[:], g = [None], value_and_grad(packed)
            values[0] = g[0]
            return g[1]

        def run() -> list[Any]:
            vjp, _ = make_vjp(gradient)(leaves)
            value = values[0]
            return [getattr(value, "_value", value), *vjp(vectors)]

        return run

    def function(self, f: Callable[..., Any], leaves: Sequence[np.ndarray]) -> Callable:
        together = self.autograd.value_and_grad(lambda packed: f(*packed))
        packed = tuple(leaves)

        def run() -> list[Any]:
            value, gradients = together(packed)
            return [value, *gradients]

        return run

    def matrix(self, kind: str, f: Callable[..., Any], leaf: np.ndarray) -> Callable:
        transformed = getattr(self.autograd, kind)(f)
        return lambda: [transformed(leaf)]

    def pad(self, x: Any) -> Any:
        return self.xp.pad(x, 1, "constant")

    def erf(self, x: Any) -> Any:
        from autograd.scipy.special import erf

        return erf(x)

    def diagonal(self, x: Any) -> Any:
        return self.xp.diag(x)  # its gradient of diagonal refuses the arguments that diagonal itself fills in


class Jax(Library):
    """JAX, jit-compiled once outside the timed runs, on one CPU thread where its flags allow that."""

    name, module = "jax", "jax"

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.xp = jax.numpy

    def constant(self, raw: np.ndarray) -> Any:
        return self.xp.asarray(raw)

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        jax = self.jax
        variables = [self.constant(a) for a in leaves]

        if seed is None:
            together = jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(leaves)))))

            def run() -> list[Any]:
                y, gradients = jax.block_until_ready(together(*variables))
                return [y, *gradients]

            return run

        g = self.constant(seed)

        @jax.jit
        def forward_and_backward(g: Any, *arguments: Any) -> Any:
            y, vjp = jax.vjp(f, *arguments)
            return [y, *vjp(g)]

        return lambda: jax.block_until_ready(forward_and_backward(g, *variables))

    def hessian_vector(
        self, f: Callable[..., Any], leaves: Sequence[np.ndarray], vectors: Sequence[np.ndarray]
    ) -> Callable:
        jax = self.jax
        variables = tuple(self.constant(a) for a in leaves)
        vectors = tuple(self.constant(v) for v in vectors)
        value_and_grad = jax.value_and_grad(f, argnums=tuple(range(len(leaves))))

        @jax.jit
        def product(variables: Any, vectors: Any) -> Any:
            (y, _), (_, products) = jax.jvp(value_and_grad, variables, vectors)
            return [y, *products]

        return lambda: jax.block_until_ready(product(variables, vectors))

    def relu(self, x: Any) -> Any:
        return self.jax.nn.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.jax.nn.sigmoid(x)

    def log_softmax(self, x: Any) -> Any:
        return self.jax.nn.log_softmax(x, axis=1)

    def function(self, f: Callable[..., Any], leaves: Sequence[np.ndarray]) -> Callable:
        return self.gradient(f, leaves, None)

    def matrix(self, kind: str, f: Callable[..., Any], leaf: np.ndarray) -> Callable:
        jax, x = self.jax, self.constant(leaf)
        transformed = jax.jit(getattr(jax, kind if kind == "hessian" else "jacrev")(f))
        return lambda: [jax.block_until_ready(transformed(x))]

    def softmax(self, x: Any) -> Any:
        return self.jax.nn.softmax(x, axis=-1)

    def logsumexp(self, x: Any, axis: int) -> Any:
        return self.jax.nn.logsumexp(x, axis=axis)

    def segment_sum(self, rows: Any, segment: np.ndarray, count: int) -> Any:
        return self.xp.zeros((count, *rows.shape[1:]), rows.dtype).at[segment].add(rows)

    def erf(self, x: Any) -> Any:
        return self.jax.scipy.special.erf(x)


class MyGrad(Library):
    """MyGrad. It has no linear algebra, FFT or second derivatives."""

    name, module = "mygrad", "mygrad"

    def __init__(self) -> None:
        import mygrad
        import mygrad.nnet

        self.mg = mygrad
        self.xp = mygrad

    def leaf(self, raw: np.ndarray) -> Any:
        return self.mg.tensor(raw)

    def gradient(self, f: Callable[..., Any], leaves: Sequence[np.ndarray], seed: np.ndarray | None) -> Callable:
        variables = [self.leaf(a) for a in leaves]

        def run() -> list[Any]:
            for v in variables:
                v.null_grad()
            y = f(*variables)
            y.backward(seed)
            return [y, *[v.grad for v in variables]]

        return run

    def relu(self, x: Any) -> Any:
        return self.mg.nnet.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.mg.nnet.sigmoid(x)

    def log_softmax(self, x: Any) -> Any:
        return self.mg.nnet.logsoftmax(x, axis=1)

    def softmax(self, x: Any) -> Any:
        return self.mg.nnet.softmax(x, axis=-1)


PEERS: dict[str, type[Library]] = {cls.name: cls for cls in (Torch, Jax, Autograd, MyGrad)}
"""What arraygrad is compared with, in the order of the table."""

LIBRARIES: dict[str, type[Library]] = {Arraygrad.name: Arraygrad, **PEERS}
