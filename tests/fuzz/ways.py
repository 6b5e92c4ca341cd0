"""Other ways to the same gradient: every one must agree with the plain one.

Imports of arraygrad: the public face, and the switches of fast paths.
"""

import functools
import tempfile
import threading
import warnings

import numpy as np

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.backends.numpy.ndarrays import set_memory_pool
from arraygrad.core.protocols import set_compiled_protocols
from arraygrad.core.roots import set_compiled_backward
from arraygrad.transforms.tracked_call_base import set_compiled_calls

from .gradients import (
    Mismatch,
    backward_of,
    close,
    dot,
    first_gradients,
    gradients_of,
    leaves_of,
    random_direction,
    roots_of,
    run_grad,
)
from .machines import ArraygradMachine

WAYS = {}


def way(function):
    @functools.wraps(function)
    def quietly(program, expected):
        with warnings.catch_warnings():
            # Many programs do not use each of their leaves.
            warnings.filterwarnings("ignore", message=".*does not depend on the arguments")
            function(program, expected)

    WAYS[function.__name__] = quietly
    return function


def same(what, found, expected, program, exactly=False):
    """The gradients of the leaves agree; None is as good as zeros."""
    for name, like in program.leaves.items():
        a, b = (np.zeros_like(like) if g is None else np.asarray(g) for g in (found[name], expected[name]))
        rtol = 1e-4 if program.low_precision else 1e-10
        good = np.array_equal(a, b) if exactly else close(a, b, rtol, rtol)
        if not good or a.dtype != like.dtype:
            raise Mismatch(what, f"{name}: {a} instead of {b}")


def grads(leaves, factor=1):
    return {n: None if t.grad is None else t.grad.numpy() / factor for n, t in leaves.items()}


@way
def backward(program, expected):
    leaves, _, weights = backward_of(program)
    same("backward", grads(leaves), expected, program)
    arrays = [t.grad.array for t in leaves.values() if t.grad is not None]
    for i, a in enumerate(arrays):
        if any(np.shares_memory(a, b) for b in (*arrays[i + 1 :], *weights, *(t.array for t in leaves.values()))):
            raise Mismatch("backward", "a .grad shares memory with another array")


@way
def backward_twice(program, expected):
    leaves, roots, weights = backward_of(program, retain_graph=True)
    if roots:
        ag.autograd.backward(roots, weights)
    same("backward twice", grads(leaves, 2), expected, program)


@way
def retained(program, expected):
    """`retain_grad` of every result that is no view and never written: it changes no gradient, and has its shape."""
    leaves = leaves_of(program)
    env = ArraygradMachine().run(program, leaves)
    kept = [
        t for n, t in env.items() if n[:1] == "r" and isinstance(t, ag.Tensor) and t.requires_grad and not t.is_leaf
    ]
    for t in kept:
        t.retain_grad()
    roots, weights = roots_of(program, env)
    if roots:
        with np.errstate(all="ignore"):
            ag.autograd.backward(roots, weights)
    same("retain_grad", grads(leaves), expected, program)
    for t in kept:
        if t.grad is not None and (t.grad.shape, t.grad.dtype) != (t.shape, t.dtype):
            raise Mismatch("retain_grad", f"a gradient of {t.grad.dtype}{t.grad.shape} for {t.dtype}{t.shape}")


@way
def accumulated(program, expected):
    """`.grad` is added to, and an array that a user keeps of it is not written."""
    leaves = leaves_of(program)
    given = {n: ag.asarray(np.ones_like(v)) for n, v in program.leaves.items()}
    for name, t in leaves.items():
        t.grad = given[name]
    env = ArraygradMachine().run(program, leaves)
    roots, weights = roots_of(program, env)
    before = [w.copy() for w in weights]
    if roots:
        with np.errstate(all="ignore"):
            ag.autograd.backward(roots, weights)
    same("accumulation", {n: t.grad.numpy() - 1 for n, t in leaves.items()}, expected, program)
    if not all(np.array_equal(a, b) for a, b in zip(before, weights, strict=True)):
        raise Mismatch("accumulation", "a root's gradient was overwritten")


@way
def traced(program, expected):
    with ag.autograd.graph.trace():
        found = gradients_of(program)
    same("trace", found, expected, program)


@way
def observed_operations(program, expected):
    with ag.autograd.graph.op_hooks(before=lambda name, args: None, after=lambda name, args, result: None):
        found = gradients_of(program)
    same("op_hooks", found, expected, program)


@way
def recorded(program, expected):
    same("create_graph", gradients_of(program, create_graph=True), expected, program)


@way
def atomic(program, expected):
    same("atomic", grads(backward_of(program, atomic=True)[0]), expected, program)


@way
def one_input(program, expected):
    name = next(iter(program.leaves))
    leaves = leaves_of(program)
    found = dict(expected)
    (found[name],) = (None if g is None else g.numpy() for g in first_gradients(program, leaves, [name]))
    same("grad of one input", found, expected, program)


@way
def packed(program, expected):
    with ag.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: a):
        found = gradients_of(program)
    same("saved_tensors_hooks", found, expected, program)


@way
def on_disk(program, expected):
    with tempfile.TemporaryDirectory() as folder, ag.autograd.graph.save_on_disk(folder):
        found = gradients_of(program)
    same("save_on_disk", found, expected, program)


def as_function(program):
    """The roots as a function of the leaves."""
    names = list(program.leaves)

    def function(*leaves):
        env = ArraygradMachine().run(program, dict(zip(names, leaves, strict=True)))
        return tuple(env[n] for n in program.weights)

    return function


@way
def whole_checkpoint(program, expected):
    leaves = leaves_of(program)
    results = ag.checkpoint(as_function(program))(*leaves.values())
    pairs = [(r, w) for r, w in zip(results, program.weights.values(), strict=True) if r.requires_grad]
    if pairs:
        with np.errstate(all="ignore"):
            ag.autograd.backward([r for r, _ in pairs], [w for _, w in pairs])
    same("checkpoint", grads(leaves), expected, program)


@way
def pulled_back(program, expected):
    with np.errstate(all="ignore"):
        _, pull = ag.vjp(as_function(program), *(v.copy() for v in program.leaves.values()))
        found = pull(tuple(program.weights.values()))
    same("vjp", dict(zip(program.leaves, found, strict=True)), expected, program)


@way
def pushed_forward(program, expected):
    if any("float32" in str(w.dtype) or "complex64" in str(w.dtype) for w in program.weights.values()):
        return
    numbers = np.random.default_rng(program.seed + 3)
    tangents = {
        n: random_direction(numbers, v.shape, v.dtype.kind == "c").astype(v.dtype) for n, v in program.leaves.items()
    }
    with np.errstate(all="ignore"):
        _, pushed = ag.jvp(as_function(program), tuple(program.leaves.values()), tuple(tangents.values()))
    ours = sum(dot(w, p) for w, p in zip(program.weights.values(), pushed, strict=True))
    terms = [(g, tangents[n]) for n, g in expected.items() if n in tangents and g is not None]
    back = sum((dot(g, t) for g, t in terms), np.longdouble(0))
    size = sum((np.sum(np.abs(g) * np.abs(t)) for g, t in terms), 0.0)
    if not abs(ours - back) <= (2e-3 if program.low_precision else 1e-8) * max(size, abs(ours), 1e-1):
        raise Mismatch("jvp", f"{float(ours)!r} forward, {float(back)!r} backward")


@way
def batched(program, expected):
    leaves = leaves_of(program)
    env = ArraygradMachine().run(program, leaves)
    roots, weights = roots_of(program, env)
    if not roots:
        return
    with np.errstate(all="ignore"):
        found = ag.autograd.grad(
            roots,
            list(leaves.values()),
            [np.stack([w, 2 * w]) for w in weights],
            is_grads_batched=True,
            allow_unused=True,
        )
    for i in range(2):
        one = {n: None if g is None else g.numpy()[i] / (i + 1) for n, g in zip(leaves, found, strict=True)}
        same("batched", one, expected, program)


@way
def anomaly(program, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ag.autograd.detect_anomaly():
            found = gradients_of(program)
    same("detect_anomaly", found, expected, program)


@way
def refusing(program, expected):
    """Where overwritten values are refused, there is the error or the same gradient."""
    previous = ag.set_saved_mutation("error")
    try:
        found = gradients_of(program)
    except RuntimeError as error:
        if not any(
            text in str(error) for text in ("modified by an inplace operation", "is not the same when it is called")
        ):
            raise
        return
    finally:
        ag.set_saved_mutation(previous)
    same('set_saved_mutation("error")', found, expected, program)


@way
def annihilating(program, expected):
    with ag.zero_annihilates():
        found = gradients_of(program)
    same("zero_annihilates", found, expected, program)


@way
def plain(program, expected):
    """Without any fast path: NumPy's calls, the table's rules, the general ways."""
    switches = (set_fast_paths, set_compiled_protocols, set_compiled_backward, set_compiled_calls)
    before = [(switch, switch(False)) for switch in switches] + [(set_memory_pool, set_memory_pool(0))]
    try:
        found = gradients_of(program)
    finally:
        for switch, mode in before:
            switch(mode)
    same("fast paths off", found, expected, program)


@way
def workers(program, expected):
    """Two threads share the host's work; in deterministic mode the sums are bitwise the same."""
    with ag.autograd.set_deterministic(True):
        alone = gradients_of(program)
        with ag.autograd.set_cpu_workers(2):
            found = gradients_of(program)
    same("set_cpu_workers(2)", found, alone, program, exactly=True)


@way
def threads(program, expected):
    """Several threads at once get bitwise the same gradients."""
    barrier = threading.Barrier(3)
    found = [None] * 3

    def work(i):
        barrier.wait()
        try:
            found[i] = gradients_of(program)
        except Exception as error:  # the main thread raises it
            found[i] = error

    running = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    alone = gradients_of(program)
    for result in found:
        if isinstance(result, Exception):
            raise result
        same("threads", result, alone, program, exactly=True)


@way
def threads_backward(program, expected):
    """Several threads run one graph backward at once."""
    leaves = leaves_of(program)
    env = ArraygradMachine().run(program, leaves)
    barrier = threading.Barrier(2)
    found = [None] * 2

    def work(i):
        barrier.wait()
        try:
            found[i] = run_grad(program, env, list(leaves.values()), retain_graph=True)
        except Exception as error:  # the main thread raises it
            found[i] = error

    running = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for result in found:
        if isinstance(result, Exception):
            raise result
        arrays = {n: None if g is None else g.numpy() for n, g in zip(leaves, result, strict=True)}
        same("threads on one graph", arrays, expected, program)


REWRITES = {
    "reverse": lambda a, numbers: a[::-1].copy(),
    "permute": lambda a, numbers: numbers.permutation(a),
    "complement": lambda a, numbers: a.max() + a.min() - a,
    "swap": lambda a, numbers: a[[1, 0, *range(2, a.size)]] if a.size > 1 else a + 1,
    "increment": lambda a, numbers: a + np.eye(1, a.size, numbers.integers(a.size))[0].astype(a.dtype),
    "alternate": lambda a, numbers: a + (-1.0) ** np.arange(a.size).astype(a.dtype),
    "negate": lambda a, numbers: -a,
}


@way
def rewritten_constants(program, expected):
    """Constants that are raw arrays, and are rewritten after the forward: the old gradient, or an error."""
    if not program.constants:
        return
    numbers = np.random.default_rng(program.seed + 9)
    machine = RawConstants()
    leaves = leaves_of(program)
    try:
        env = machine.run(program, leaves)
    except (TypeError, ValueError, AttributeError):
        return  # a statement of two raw arrays asks for what only Tensors have
    rewrite = REWRITES[list(REWRITES)[numbers.integers(len(REWRITES))]]
    for array in machine.constants.values():
        if array.size and array.flags.writeable:
            array[...] = rewrite(array.reshape(-1), numbers).reshape(array.shape)
    # A root that is no Tensor was computed from constants alone.
    if any(not isinstance(env[name], ag.Tensor) for name in program.weights):
        return
    try:
        found = run_grad(program, env, list(leaves.values()))
    except RuntimeError as error:
        if not any(
            text in str(error) for text in ("modified by an inplace operation", "is not the same when it is called")
        ):
            raise
        return
    found = {name: None if g is None else g.numpy() for name, g in zip(leaves, found, strict=True)}
    same("rewritten constants", found, expected, program)


class RawConstants(ArraygradMachine):
    """Executes with the constants as plain arrays of NumPy's."""

    def run(self, program, leaves):
        self.constants = {name: value.copy() for name, value in program.constants.items()}
        self.observed = frozenset()
        env = {**self.environment(), **self.constants, **leaves}
        with np.errstate(all="ignore"):
            return program.run(self, env)
