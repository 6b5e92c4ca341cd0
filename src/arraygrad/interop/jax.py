"""JAX functions here and arraygrad's functions there: the part of `interop` that needs jax.

May import: interop.foreign, autograd, core.containers, core.constructors, core.tensor, interop.transfer, jax, numpy.

JAX's gradient of a complex argument is the conjugate of ours (and PyTorch's), so gradients are conjugated on the way in
and on the way out.
"""

from __future__ import annotations

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy

from arraygrad import autograd
from arraygrad.autograd.grad_mode import enable_grad, no_grad
from arraygrad.core.constructors import asarray, tensor
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.interop.foreign import Foreign, array_leaves, call, warn_of_constants
from arraygrad.interop.transfer import to_backend

__all__ = ["incoming", "outgoing"]


def _is_floating(array):
    return array.dtype.kind in "fc" or jnp.issubdtype(array.dtype, jnp.floating)


# JAX's functions as nodes of our graph


class JaxFunction(Foreign):
    """`f(list of arrays)` -> list of arrays, differentiated by JAX."""

    library = "jax"

    def __init__(self, f, name, looked=None):
        self.f = f
        self.name = name
        self.looked = looked  # a list, not empty once results were seen to depend on arguments; None: do not look

    def run(self, leaves, wanted):
        if not wanted:
            return self.f(leaves), None
        outputs, linear = jax.vjp(self._of(leaves, wanted), *[leaves[i] for i in wanted])

        def pull(gradients):
            cotangents = [
                numpy.zeros(out.shape, jax.dtypes.float0) if g is None else jnp.conj(g)
                for out, g in zip(outputs, gradients, strict=True)
            ]
            found = linear(cotangents)
            if self.looked == []:
                self._look(linear, cotangents, found)
            return [jnp.conj(g) for g in found]

        return outputs, pull

    def _look(self, linear, cotangents, found):
        """Warn where `found`, which `linear` gives, is zero whatever the cotangents are."""
        if not any(bool(jnp.any(g != 0)) for g in found) and not _depends(linear, cotangents):
            warn_of_constants(self.name, "JAX", "jax.lax.stop_gradient and constants in it have none")
        else:
            self.looked.append(True)

    def _of(self, leaves, wanted):
        """f as a function of the wanted leaves only."""

        def of_wanted(*values):
            filled = list(leaves)
            for i, value in zip(wanted, values, strict=True):
                filled[i] = value
            return self.f(filled)

        return of_wanted

    def gradient(self, n, wanted, given):
        def f(values):
            leaves, gradients = values[:n], dict(zip(given, values[n:], strict=True))
            outputs, linear = jax.vjp(self._of(leaves, wanted), *[leaves[i] for i in wanted])
            cotangents = [
                jnp.conj(gradients[i])
                if i in gradients
                else jnp.zeros_like(out)
                if _is_floating(out)
                else numpy.zeros(out.shape, jax.dtypes.float0)
                for i, out in enumerate(outputs)
            ]
            return [jnp.conj(g) for g in linear(cotangents)]

        return JaxFunction(f, self.name)


def _depends(linear, cotangents):
    """Whether a result of `linear` is computed from the cotangents, by its jaxpr."""
    program = jax.make_jaxpr(linear)(cotangents).jaxpr
    known = set(program.invars)
    for equation in program.eqns:
        if any(type(v) is not jax.extend.core.Literal and v in known for v in equation.invars):
            known.update(equation.outvars)
    return any(type(v) is not jax.extend.core.Literal and v in known for v in program.outvars)


def incoming(f):
    """See interop.from_jax."""
    name = getattr(f, "__name__", type(f).__name__)
    looked = []

    def wrapped(*args, **kwargs):
        tensors, rebuild, home = array_leaves(args, kwargs, "jax")
        shape = [None]

        def flat(arrays):
            args, kwargs = rebuild(arrays)
            leaves, structure = flatten(f(*args, **kwargs))
            arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
            # What is no array must not be kept from a trace: only whether there was one.
            shape[0] = [None if isinstance(leaf, jax.Array) else (leaf,) for leaf in leaves], structure
            return arrays

        results = iter(call(JaxFunction(flat, name, looked), tensors))
        leaves, structure = shape[0]
        leaves = [_home(next(results), home) if leaf is None else leaf[0] for leaf in leaves]
        return unflatten(structure, leaves)

    return wrapped


def _home(t, home):
    return t if home in (None, "jax") else to_backend(t, home)


# Functions of arraygrad as JAX functions


def outgoing(f, library, result):
    """See interop.as_jax."""
    name = getattr(f, "__name__", type(f).__name__)

    def wrapped(*args, **kwargs):
        leaves, structure = flatten((args, kwargs))
        at = [i for i, leaf in enumerate(leaves) if _is_jax_or_numpy(leaf)]
        shape = [None]

        def flat(tensors):
            filled = list(leaves)
            for i, t in zip(at, tensors, strict=True):
                filled[i] = to_backend(t, library)
            args, kwargs = unflatten(structure, filled)
            results, shape[0] = flatten(f(*args, **kwargs))
            return [_numpy_result(name, r) for r in results]

        inputs = [jnp.asarray(leaves[i]) for i in at]
        if result is None:
            kinds = _kinds(flat, inputs)
        else:
            kinds, shape[0] = flatten(result)
        return unflatten(shape[0], _as_jax(flat, kinds)(*inputs))

    return wrapped


def _is_jax_or_numpy(leaf):
    return isinstance(leaf, jax.Array | numpy.ndarray)


def _numpy_result(name, result):
    if not isinstance(result, Tensor):
        try:
            result = asarray(result)
        except TypeError:
            raise TypeError(
                f"as_jax: '{name}' returned {type(result).__name__}, but every result must be an array or a number"
            ) from None
    return to_backend(result, "numpy")


def _kinds(flat, inputs):
    """Shape and dtype of each result, by a call with ones."""
    try:
        with no_grad():
            results = flat([asarray(numpy.ones(x.shape, x.dtype)) for x in inputs])
    except Exception as error:
        error.add_note(
            "as_jax called the function with arrays of ones, to find the shapes and dtypes of its results. If ones are "
            "no valid input, say them: as_jax(f, result=jax.ShapeDtypeStruct(shape, dtype))"
        )
        raise
    return [_struct(r.array) for r in results]


def _struct(array):
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _as_jax(flat, kinds):
    """The JAX function of arrays whose values and gradients `flat` (Tensors -> Tensors, over NumPy) computes."""

    def values(*arrays):
        with no_grad():
            results = flat([asarray(numpy.asarray(a)) for a in arrays])
        return [_fitting(r.array, kind) for r, kind in zip(results, kinds, strict=True)]

    @jax.custom_vjp
    def function(*arrays):
        return jax.pure_callback(values, kinds, *arrays, vmap_method="sequential")

    def forward(*arrays):
        return function(*arrays), arrays

    def backward(arrays, cotangents):
        wanted = [i for i, a in enumerate(arrays) if _is_floating(a)]
        given = [i for i, kind in enumerate(kinds) if _is_floating(kind)]
        gradient = _as_jax(_gradient(flat, len(arrays), wanted, given), [_struct(arrays[i]) for i in wanted])
        found = iter(gradient(*arrays, *[jnp.conj(cotangents[i]) for i in given]))
        return tuple(
            [jnp.conj(next(found)) if i in wanted else numpy.zeros(a.shape, jax.dtypes.float0)
             for i, a in enumerate(arrays)]
        )  # fmt: skip

    function.defvjp(forward, backward)
    return function


def _fitting(array, kind):
    if array.shape != kind.shape:
        raise ValueError(
            f"as_jax: the function returned an array of shape {array.shape} where {kind.shape} was announced: give the "
            "shapes of its results as result=..."
        )
    return numpy.asarray(array, kind.dtype)


def _gradient(flat, n, wanted, given):
    """(n arguments, gradients of the results `given`) -> gradients of the arguments `wanted`, as Tensors."""

    def gradient(values):
        with enable_grad():
            leaves, gradients = list(values[:n]), values[n:]
            record = any(t.requires_grad for t in values)
            for i in wanted:
                if not leaves[i].requires_grad:
                    leaves[i] = tensor(leaves[i], requires_grad=True)
            results = flat([t * 1 if t.requires_grad else t for t in leaves])
            pairs = [(results[i], g) for i, g in zip(given, gradients, strict=True) if results[i].requires_grad]
            if not pairs:
                return [asarray(numpy.zeros_like(leaves[i].array)) for i in wanted]
            return list(
                autograd.grad(
                    [r for r, _ in pairs],
                    [leaves[i] for i in wanted],
                    [g for _, g in pairs],
                    create_graph=record,
                    materialize_grads=True,
                )
            )

    return gradient
