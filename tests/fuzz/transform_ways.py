"""Transforms of functions, and transforms of those: other ways to the same first and second derivatives.

Imports of arraygrad: the public face.
"""

import numpy as np

import arraygrad as ag

from .gradients import Mismatch, close, dot, leaves_of, random_direction, second_gradients
from .machines import ArraygradMachine
from .ways import WAYS, as_function, same, way

__all__ = ["WAYS"]


def objective_of(program):
    """The real number that a program is differentiated as, a function of the leaves."""

    def function(*leaves):
        given = [t if isinstance(t, ag.Tensor) else ag.tensor(t) for t in leaves]  # what is not differentiated is raw
        env = ArraygradMachine().run(program, dict(zip(program.leaves, given, strict=True)))
        terms = [ag.sum(ag.real(ag.conj(ag.asarray(w)) * env[n])) for n, w in program.weights.items()]
        return sum(terms[1:], terms[0])

    return function


def copies(program):
    return [v.copy() for v in program.leaves.values()]


def smooth(program):
    """Whether second derivatives can be compared: see `Checker.second_order`."""
    return not program.low_precision and not any(op in ("hook", "node_hook") for op in program.ops)


@way
def value_and_grad(program, expected):
    with np.errstate(all="ignore"):
        _, found = ag.value_and_grad(objective_of(program), argnums=tuple(range(len(program.leaves))))(*copies(program))
    same("value_and_grad", dict(zip(program.leaves, found, strict=True)), expected, program)


def second(program, expected):
    """(names of leaves with a gradient, the second derivatives, their weights)."""
    names = [n for n in program.leaves if expected[n] is not None and program.leaves[n].size]
    found, weights = second_gradients(program, expected, names)
    return names, found, weights


def same_second(what, found, expected, names):
    for name in names:
        a, b = found[name], expected[name]
        b = np.zeros_like(a) if b is None else b
        a = np.zeros_like(b) if a is None else np.asarray(a)
        if not close(a, b, 1e-8, 1e-8):
            raise Mismatch(what, f"{name}: {a} instead of {b}")


@way
def grad_of_grad(program, expected):
    if not smooth(program):
        return
    names, second_order, weights = second(program, expected)
    places = tuple(i for i, n in enumerate(program.leaves) if n in names)
    if not places:
        return
    objective = objective_of(program)

    def along(*leaves):
        gradients = ag.grad(objective, argnums=places)(*leaves)
        terms = [ag.sum(ag.real(ag.asarray(np.conj(weights[n])) * g)) for n, g in zip(names, gradients, strict=True)]
        return sum(terms[1:], terms[0])

    with np.errstate(all="ignore"):
        found = ag.grad(along, argnums=places)(*copies(program))
    same_second("grad of grad", dict(zip(names, found, strict=True)), second_order, names)


@way
def hessian_vector(program, expected):
    if not smooth(program):
        return
    names, second_order, weights = second(program, expected)
    places = tuple(i for i, n in enumerate(program.leaves) if n in names)
    if not places:
        return
    with np.errstate(all="ignore"):
        product = ag.hvp(objective_of(program), argnums=places)
        found = product(*copies(program), tuple(weights[n] for n in names))
    same_second("hvp", dict(zip(names, found, strict=True)), second_order, names)


@way
def checkpointed_twice(program, expected):
    """The second derivative through a checkpoint of the whole."""
    if not smooth(program):
        return
    names, second_order, _ = second(program, expected)

    def run(leaves):
        return dict(zip(program.weights, ag.checkpoint(as_function(program))(*leaves.values()), strict=True))

    found, _ = second_gradients(program, expected, names, run)
    same_second("second derivative of a checkpoint", found, second_order, names)


@way
def linearized(program, expected):
    """The derivative along one direction, from the linear function, against the gradient."""
    if program.low_precision:
        return
    numbers = np.random.default_rng(program.seed + 6)
    tangents = [
        random_direction(numbers, v.shape, v.dtype.kind == "c").astype(v.dtype) for v in program.leaves.values()
    ]
    with np.errstate(all="ignore"):
        _, push = ag.linearize(as_function(program), *copies(program))
        pushed = push(*tangents)
    ours = sum(dot(w, p) for w, p in zip(program.weights.values(), pushed, strict=True))
    terms = [(expected[n], t) for n, t in zip(program.leaves, tangents, strict=True) if expected[n] is not None]
    back = sum((dot(g, t) for g, t in terms), np.longdouble(0))
    size = sum((np.sum(np.abs(g) * np.abs(t)) for g, t in terms), 0.0)
    if not abs(ours - back) <= 1e-8 * max(size, abs(ours), 1e-1):
        raise Mismatch("linearize", f"{float(ours)!r} forward, {float(back)!r} backward")


@way
def jacobians(program, expected):
    """Row by row, column by column, and summed with the weights: of one root by one leaf, both real."""
    name, leaf = next(iter(program.leaves.items()))
    root, weight = next(iter(program.weights.items()))
    if program.low_precision or "c" in leaf.dtype.kind + weight.dtype.kind or leaf.size * weight.size > 200:
        return
    others = list(program.leaves.values())[1:]

    def function(x):
        given = dict(zip(program.leaves, [x, *others], strict=True))
        given = {n: t if isinstance(t, ag.Tensor) else ag.tensor(t) for n, t in given.items()}
        return ArraygradMachine().run(program, given)[root]

    with np.errstate(all="ignore"):
        rows, columns = ag.jacobian(function)(leaf.copy()), ag.jacfwd(function)(leaf.copy())
        leaves = leaves_of(program)
        value = ArraygradMachine().run(program, leaves)[root]
        found = (None,)
        if value.requires_grad:
            found = ag.autograd.grad([value], [leaves[name]], [weight], allow_unused=True)
    if not close(rows, columns, 1e-9, 1e-9):
        raise Mismatch("jacobian", f"{name}: {rows} by rows, {columns} by columns")
    summed = np.tensordot(weight, rows, axes=weight.ndim)
    if found[0] is not None and not close(summed, found[0].numpy(), 1e-9, 1e-9):
        raise Mismatch("jacobian", f"{name}: {summed} instead of {found[0].numpy()}")
