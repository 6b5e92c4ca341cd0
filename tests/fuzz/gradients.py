"""arraygrad's gradients of a program, and the measures that compare them. Imports of arraygrad: the public face."""

import numpy as np

import arraygrad as ag

from .machines import ArraygradMachine


class Mismatch(Exception):
    """arraygrad's answer is not the reference's."""

    def __init__(self, what, message):
        super().__init__(f"{what}: {message}")
        self.what = what


def dot(a, b):
    """The real inner product."""
    a, b = np.asarray(a), np.asarray(b)
    wide = np.clongdouble if "c" in (a.dtype.kind, b.dtype.kind) else np.longdouble
    return np.sum((np.conj(a.astype(wide)) * b.astype(wide)).real)


def close(a, b, rtol, atol=0.0):
    """Elementwise, relative to the largest element."""
    a, b = np.asarray(a), np.asarray(b)
    scale = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= rtol * scale + atol))


def random_direction(numbers, shape, complex_):
    direction = numbers.uniform(0.3, 1.0, shape) * numbers.choice([-1, 1], shape)
    if complex_:
        direction = direction + 1j * numbers.uniform(-1, 1, shape)
    return np.asarray(direction)


# -- arraygrad's gradients -------------------------------------------------------------------------------------------


def leaves_of(program, moved=None):
    moved = moved or {}
    return {
        name: ag.tensor((value + moved[name]).astype(value.dtype) if name in moved else value, requires_grad=True)
        for name, value in program.leaves.items()
    }


def roots_of(program, env):
    """The roots that require grad, with their weights."""
    names = [n for n in program.weights if env[n].requires_grad]
    return [env[n] for n in names], [program.weights[n] for n in names]


def run_grad(program, env, inputs, **options):
    roots, weights = roots_of(program, env)
    if not roots or not inputs:
        return [None] * len(inputs)
    with np.errstate(all="ignore"):
        return list(ag.autograd.grad(roots, inputs, weights, allow_unused=True, **options))


def first_gradients(program, leaves, names, tape=None, **options):
    env = ArraygradMachine(tape).run(program, leaves)
    return run_grad(program, env, [leaves[n] for n in names], **options)


def gradients_of(program, observed=(), **options):
    """{name: raw gradient or None} of the leaves and the observed registers."""
    leaves = leaves_of(program)
    machine = ArraygradMachine()
    env = machine.run(program, leaves, observed)
    inputs = {**leaves, **machine.edges}
    found = run_grad(program, env, list(inputs.values()), **options)
    result = dict.fromkeys((*leaves, *observed))
    result.update((n, None if g is None else g.numpy()) for n, g in zip(inputs, found, strict=True))
    return result


def backward_of(program, **options):
    """The same by `backward` and `.grad`."""
    leaves = leaves_of(program)
    env = ArraygradMachine().run(program, leaves)
    roots, weights = roots_of(program, env)
    if roots:
        with np.errstate(all="ignore"):
            ag.autograd.backward(roots, weights, **options)
    return leaves, roots, weights


def second_gradients(program, gradients, names, run=None):
    """({leaf: gradient of the weighted first gradients, or None}, the weights)."""
    numbers = np.random.default_rng(program.seed + 4)
    weights = {
        n: random_direction(numbers, gradients[n].shape, gradients[n].dtype.kind == "c").astype(gradients[n].dtype)
        for n in names
    }
    leaves = leaves_of(program)
    function = run or (lambda given: ArraygradMachine().run(program, given))
    env = function(leaves)
    first = dict(zip(names, run_grad(program, env, [leaves[n] for n in names], create_graph=True), strict=True))
    kept = [n for n in names if first[n] is not None and first[n].requires_grad]
    found = [None] * len(names)
    if kept:
        with np.errstate(all="ignore"):
            found = ag.autograd.grad(
                [first[n] for n in kept], [leaves[n] for n in names], [weights[n] for n in kept], allow_unused=True
            )
    return {n: None if g is None else g.numpy() for n, g in zip(names, found, strict=True)}, weights
