"""PyTorch functions here and arraygrad's functions there: the part of `interop` that needs torch.

May import: interop.foreign, autograd, core.containers, core.constructors, core.tensor, interop.transfer, torch.
"""

from __future__ import annotations

import torch

from arraygrad import autograd
from arraygrad.autograd.grad_mode import enable_grad
from arraygrad.core.constructors import asarray
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.interop.foreign import Foreign, array_leaves, call, warn_of_constants
from arraygrad.interop.transfer import to_backend

__all__ = ["incoming", "outgoing"]


# PyTorch's functions as nodes of our graph

_CUT_OFF = "torch.tensor(x), torch.from_numpy, x.detach(), x.item() and torch.no_grad() in it cut the gradient off"


class TorchFunction(Foreign):
    """`f(list of tensors)` -> list of tensors, differentiated by PyTorch."""

    library = "torch"

    def __init__(self, f, name, others, order=1):
        self.f = f
        self.name = name
        self.others = others
        self.order = order  # 1: the function, 2: its gradient

    def run(self, leaves, wanted):
        # Leaves of PyTorch's own over the same memory: its version counter sees later writes by PyTorch.
        leaves = [a.detach() for a in leaves]
        if not wanted:
            with torch.no_grad():
                return self.f(leaves), None
        for i in wanted:
            leaves[i].requires_grad_()
        with torch.enable_grad():
            outputs = self.f(leaves)
        inputs = [leaves[i] for i in wanted]
        further = self._others(outputs, inputs)
        linked = [i for i, out in enumerate(outputs) if out.requires_grad]
        unrecorded = self.order > 1 and self._unrecorded(outputs)
        if not linked and self.order == 1 and any(out.is_floating_point() or out.is_complex() for out in outputs):
            warn_of_constants(self.name, "PyTorch", _CUT_OFF)

        def pull(gradients):
            if unrecorded:
                raise RuntimeError(
                    f"{self.name}: a torch.autograd.Function in it ({unrecorded}) has a backward that PyTorch does not "
                    "record (once_differentiable, or computed on detached tensors), so that it has no second "
                    "derivative and no derivative in forward mode (jvp, jacfwd, linearize, hessian, hvp); grad, vjp "
                    "and jacrev differentiate it as it is"
                )
            if not linked:
                return [None] * len(inputs)
            found = torch.autograd.grad(
                [outputs[i] for i in linked],
                inputs + further,
                [gradients[i] for i in linked],
                retain_graph=True,
                allow_unused=True,
            )
            for parameter, g in zip(further, found[len(inputs) :], strict=True):
                if g is not None:
                    parameter.grad = g if parameter.grad is None else parameter.grad + g
            return found[: len(inputs)]

        # Copies: PyTorch may keep its results for its own rules, and a write into ours must not reach them.
        return [out.detach().clone() for out in outputs], pull

    def _unrecorded(self, outputs):
        """The name of what in the function, a gradient, has a backward that is not recorded, or None."""
        found = getattr(self.f, "lost", None)
        if found:
            return found[0]
        return next((node.name() for node in _graph_nodes(outputs) if _is_error(node)), None)

    def _others(self, outputs, inputs):
        """The leaves of PyTorch's graph that are no arguments, if they are to be accumulated into."""
        if self.others == "ignore":
            return []
        own = {id(t) for t in inputs}
        found = [t for t in _graph_leaves(outputs) if id(t) not in own and not hasattr(t, "_stands_in")]
        if found and self.others == "raise":
            shapes = ", ".join([str(tuple(t.shape)) for t in found[:3]])
            raise TypeError(
                f"{self.name}: the function uses {len(found)} torch tensors that require grad and are no arguments "
                f"of it (shapes {shapes}), whose gradients would be lost: pass them as arguments, as by "
                "torch.func.functional_call(module, parameters, x), detach them, or say others='accumulate'"
            )
        return found

    def gradient(self, n, wanted, given):
        def f(values):
            f.lost = []
            leaves, gradients = values[:n], values[n:]
            # PyTorch tells what is not recorded by gradients that require grad.
            gradients = [g if g.requires_grad else _stand_in(g) for g in gradients]
            # An argument that needs no gradient of its own may still be one that is differentiated here.
            leaves = [
                a if i not in wanted or a.requires_grad else a.detach().requires_grad_() for i, a in enumerate(leaves)
            ]
            with torch.enable_grad():
                outputs = self.f(leaves)
                watched = [_watch(node, f.lost) for node in _graph_nodes(outputs) if _is_custom(node)]
                found = torch.autograd.grad(
                    [outputs[i] for i in given],
                    [leaves[i] for i in wanted],
                    gradients,
                    create_graph=True,
                    allow_unused=True,
                )
            for handle in watched:
                handle.remove()
            return [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(wanted, found, strict=True)]

        return TorchFunction(f, self.name, "ignore" if self.others == "accumulate" else self.others, 2)


def _graph_nodes(outputs):
    """Nodes of PyTorch's graph behind `outputs`, each once; none behind a node that only raises."""
    stack = [out.grad_fn for out in outputs if out.grad_fn is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        if _is_error(node):  # the leaves behind it are made up
            continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)


def _graph_leaves(outputs):
    """Leaves of PyTorch's graph behind `outputs`, each once."""
    found = [out for out in outputs if out.requires_grad and out.grad_fn is None]
    return found + [node.variable for node in _graph_nodes(outputs) if hasattr(node, "variable")]


def _stand_in(g):
    """A leaf that requires grad in the place of a constant gradient."""
    leaf = g.detach().requires_grad_()
    leaf._stands_in = True
    return leaf


def _is_error(node):
    """Whether a node stands in the place of what once_differentiable did not record."""
    return type(node).__name__ == "Error"


def _is_custom(node):
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def _watch(node, lost):
    """Note in `lost` the name of a custom Function whose recorded backward returns constants."""

    def look(found, gradients):
        if any(g is not None and g.requires_grad for g in gradients) and any(
            g is not None and not g.requires_grad for g in found
        ):
            lost.append(node.name())

    return node.register_hook(look)


def incoming(f, others):
    """See interop.from_torch."""
    name = getattr(f, "__name__", type(f).__name__)

    def wrapped(*args, **kwargs):
        tensors, rebuild, home = array_leaves(args, kwargs, "torch")
        shape = [None]

        def flat(arrays):
            args, kwargs = rebuild(arrays)
            leaves, structure = flatten(f(*args, **kwargs))
            shape[0] = leaves, structure
            return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

        results = iter(call(TorchFunction(flat, name, others), tensors))
        leaves, structure = shape[0]
        leaves = [_home(next(results), home) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        return unflatten(structure, leaves)

    return wrapped


def _home(t, home):
    return t if home in (None, "torch") else to_backend(t, home)


# Functions of arraygrad as nodes of PyTorch's graph


def outgoing(f, library):
    """See interop.as_torch."""
    name = getattr(f, "__name__", type(f).__name__)

    def wrapped(*args, **kwargs):
        leaves, structure = flatten((args, kwargs))
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        shape = [None]

        def flat(tensors):
            filled = list(leaves)
            for i, t in zip(at, tensors, strict=True):
                filled[i] = to_backend(t, library)
            args, kwargs = unflatten(structure, filled)
            results, shape[0] = flatten(f(*args, **kwargs))
            return [_torch_result(name, r) for r in results]

        results = _apply(flat, [leaves[i] for i in at])
        return unflatten(shape[0], results)

    return wrapped


def _torch_result(name, result):
    if not isinstance(result, Tensor):
        try:
            result = asarray(result)
        except TypeError:
            raise TypeError(
                f"as_torch: '{name}' returned {type(result).__name__}, but every result must be an array or a number"
            ) from None
    return to_backend(result, "torch")


def _apply(flat, inputs):
    """The results, torch tensors, of `flat` (list of Tensors -> list of Tensors, over torch) on torch tensors."""
    return list(_ArraygradFunction.apply(flat, *inputs))


class _ArraygradFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, flat, *inputs):
        ctx.flat = flat
        needs = ctx.needs_input_grad[1:]
        ctx.ours = [
            asarray(t.detach(), requires_grad=need and (t.is_floating_point() or t.is_complex()))
            for t, need in zip(inputs, needs, strict=True)
        ]
        with enable_grad():
            # A place in the graph of its own for each argument, so that f may write into it.
            ctx.results = flat([t * 1 if t.requires_grad else t for t in ctx.ours])
        ctx.save_for_backward(*inputs)  # PyTorch checks that nobody wrote into them
        outputs = tuple([r.detach().array.clone() for r in ctx.results])
        ctx.mark_non_differentiable(*[o for o, r in zip(outputs, ctx.results, strict=True) if not r.requires_grad])
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    def backward(ctx, *gradients):
        inputs = ctx.saved_tensors
        given = [i for i, (g, r) in enumerate(zip(gradients, ctx.results, strict=True))
                 if g is not None and r.requires_grad]  # fmt: skip
        wanted = [i for i, t in enumerate(ctx.ours) if t.requires_grad]
        found = [None] * len(inputs)
        if given and wanted:
            if torch.is_grad_enabled():
                values = _apply(_gradient(ctx.flat, len(inputs), wanted, given),
                                [*inputs, *[gradients[i] for i in given]])  # fmt: skip
            else:
                values = [
                    None if g is None else g.array
                    for g in autograd.grad(
                        [ctx.results[i] for i in given],
                        [ctx.ours[i] for i in wanted],
                        [asarray(gradients[i].detach()) for i in given],
                        retain_graph=True,
                        allow_unused=True,
                    )
                ]
            for i, value in zip(wanted, values, strict=True):
                found[i] = value
        return (None, *found)


def _gradient(flat, n, wanted, given):
    """(n arguments, gradients of the results `given`) -> gradients of the arguments `wanted`, as Tensors."""

    def gradient(values):
        leaves, gradients = list(values[:n]), values[n:]
        for i in wanted:
            if not leaves[i].requires_grad:
                leaves[i] = leaves[i].detach().requires_grad_()
        results = flat([t * 1 if t.requires_grad else t for t in leaves])  # f may write into its arguments
        return list(
            autograd.grad(
                [results[i] for i in given],
                [leaves[i] for i in wanted],
                list(gradients),
                create_graph=True,
                materialize_grads=True,
            )
        )

    return gradient
