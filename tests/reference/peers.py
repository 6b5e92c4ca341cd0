"""A sample's gradients by arraygrad and by other libraries, all in PyTorch's convention for complex numbers.

Imports the public names of arraygrad; torch and jax only when their gradients are asked for.

The gradient of a real loss L is dL/d(Re z) + i dL/d(Im z). JAX's vector-Jacobian product does not conjugate, so for it
both the weights that go in and the gradients that come out are conjugated.
"""

import numpy as np

import arraygrad as ag
from arraygrad.core.tensor import Tensor, backend_of

# What rules see under create_graph: the public functions and the internal operations, recorded.
XP = backend_of(np.zeros(1)).graph_xp


class Namespace:
    """A library's Array API namespace; what is given by keyword comes first."""

    def __init__(self, raw, *others, **own):
        self._modules = (raw, *others)
        self.__dict__.update(own)

    def __getattr__(self, name):
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"{self._modules[0].__name__} has no {name}")


def flat(output, is_array):
    """The arrays in a result, in order."""
    return [output] if is_array(output) else [found for item in output for found in flat(item, is_array)]


def weight(rng, shape, is_complex):
    """Random weights for one result: the same ones for every library."""
    weights = rng.uniform(0.5, 1.5, shape)
    return weights + 1j * rng.uniform(-1.0, 1.0, shape) if is_complex else weights


def ones(rng, shape, is_complex):
    """The weights of a plain sum, for ties and kinks."""
    return np.ones(shape, dtype=complex if is_complex else float)


def _or_zeros(found, arrays):
    return [np.zeros_like(a) if g is None else np.asarray(g) for g, a in zip(found, arrays, strict=True)]


def ours(call, arrays, order=1, weights=weight):
    """Gradients by arraygrad of weighted results; for order 2, of the weighted gradients."""
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    results = [r for r in flat(call(XP, *leaves), lambda r: isinstance(r, Tensor)) if r.requires_grad]
    for step in range(order):
        rng = np.random.default_rng([step, 4])
        w = [ag.asarray(np.asarray(weights(rng, r.shape, r.dtype.kind == "c"), dtype=r.dtype)) for r in results]
        if not results:
            return _or_zeros([None] * len(arrays), arrays)
        found = ag.autograd.grad(results, leaves, w, create_graph=step + 1 < order, allow_unused=True)
        results = [g for g in found if g is not None and g.requires_grad]
    return _or_zeros([None if g is None else g.numpy() for g in found], arrays)


def torchs(torch, xp, call, arrays, order=1, weights=weight):
    """The same by PyTorch."""
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    results = [r for r in flat(call(xp, *leaves), lambda r: isinstance(r, torch.Tensor)) if r.requires_grad]
    for step in range(order):
        rng = np.random.default_rng([step, 4])
        w = [torch.tensor(weights(rng, tuple(r.shape), r.is_complex()), dtype=r.dtype) for r in results]
        if not results:
            return _or_zeros([None] * len(arrays), arrays)
        found = torch.autograd.grad(results, leaves, w, create_graph=step + 1 < order, allow_unused=True)
        results = [g for g in found if g is not None and g.requires_grad]
    return _or_zeros([None if g is None else g.numpy(force=True) for g in found], arrays)


def jaxs(jax, xp, call, arrays, order=1, weights=weight):
    """The same by JAX."""

    def f(*values):
        results = flat(call(xp, *values), lambda r: isinstance(r, jax.Array))
        return [r for r in results if r.dtype.kind in "fc"]

    for step in range(order):
        f = _jax_gradient(jax, f, step, weights)
    return [np.asarray(g) for g in f(*[jax.numpy.asarray(a) for a in arrays])]


def _jax_gradient(jax, f, step, weights):
    conj = jax.numpy.conj

    def gradient(*values):
        rng = np.random.default_rng([step, 4])
        results, pull = jax.vjp(f, *values)
        w = [jax.numpy.asarray(weights(rng, r.shape, r.dtype.kind == "c"), dtype=r.dtype) for r in results]
        return [conj(g) for g in pull([conj(v) for v in w])]

    return gradient
