"""What is compared, and how closely. Imports of arraygrad: the public face.

The measure of a gradient is its product with a random direction, against differences of the program's value along that
direction: an error in any element shows. The differences are taken in longdouble where NumPy has it, at several step
sizes; they tell their own error by how far neighbouring sizes differ.
"""

import random
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

import arraygrad as ag

from .generate import uses_double
from .gradients import (
    Mismatch,
    close,
    dot,
    first_gradients,
    gradients_of,
    leaves_of,
    random_direction,
    roots_of,
    run_grad,
    second_gradients,
)
from .machines import ArraygradMachine, NumpyMachine
from .program import Unsupported
from .torch_machine import TorchMachine
from .transform_ways import WAYS

ACCUMULATORS = 2**64 - 1  # the number of a leaf's accumulator, which runs as soon as it can


def shared(values, a, b):
    """Whether two registers share memory."""
    return np.may_share_memory(values[a], values[b])


@dataclass
class Counts:
    programs: int = 0
    operations: int = 0
    values: int = 0
    gradients: int = 0
    second: int = 0
    torch: int = 0  # programs of which PyTorch gave every gradient
    variants: int = 0
    undecided: int = 0  # differences without enough digits to compare with
    seen: dict = field(default_factory=dict)

    def line(self):
        return (
            f"{self.programs} programs, {self.operations} operations of {len(self.seen)} kinds, comparisons: "
            f"{self.values} values, {self.gradients} gradients, {self.second} second derivatives, "
            f"{self.variants} other ways to the same gradient"
            + (f", {self.torch} programs with PyTorch" if self.torch else "")
            + f"; {self.undecided} undecided"
        )


def directional(function, steps):
    """The derivative at 0 of a function of one real number, and how far it may be wrong."""
    values = []
    for h in steps:
        near, wide = function(h) - function(-h), function(2 * h) - function(-2 * h)
        values.append((8 * near - wide) / (12 * h))
    pairs = [(abs(a - b), b) for a, b in pairwise(values) if np.isfinite(a - b)]  # not where a step met a jump
    error, value = min(pairs, default=(np.longdouble("inf"), np.longdouble("nan")))
    return value, error


class Checker:
    """Compares one program after the other and counts. `torch`: with PyTorch beside the differences."""

    def __init__(self, ways=2, second=0.4, torch=False):
        self.counts = Counts()
        self.ways, self.second, self.torch = ways, second, torch

    def check(self, program, thorough=False):
        """Raises Mismatch, or what arraygrad raised; Invalid where the program is none."""
        rng = random.Random(program.seed)
        base = NumpyMachine("native", checked=True)
        native = base.run(program)
        if any(w is None for w in program.weights.values()):
            program = replace(program, weights={n: np.ones_like(native[n]) for n in program.weights})
        precision = "double" if uses_double(program) else "long"
        reference = NumpyMachine(precision, checked=True)
        reference.run(program)
        self.cells = reference.cells
        self.values(program, native)
        gradients = self.gradients(program, reference.tape, precision)
        second = thorough or rng.random() < self.second
        if second:
            self.second_order(program, gradients, reference.tape, precision)
        if self.torch:
            self.compare_torch(program, native, gradients, second)
        ways = list(WAYS) if thorough else rng.sample(list(WAYS), self.ways)
        for name in ways:
            self.counts.variants += 1
            WAYS[name](program, gradients)
        self.counts.programs += 1
        self.counts.operations += len(program.ops)
        for op in program.ops:
            self.counts.seen[op] = self.counts.seen.get(op, 0) + 1

    def values(self, program, native):
        """Every register has NumPy's shape, dtype and elements; leaves are as they were."""
        leaves = leaves_of(program)
        env = ArraygradMachine().run(program, leaves)
        names = [*program.leaves, *dict.fromkeys(n for s in program.steps for n in s.outs)]
        rtol = 1e-3 if program.low_precision else 1e-9
        for name in names:
            self.counts.values += 1
            ours, theirs = env[name].numpy(), native[name]
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                raise Mismatch("value", f"{name} is {ours.dtype}{ours.shape}, of NumPy {theirs.dtype}{theirs.shape}")
            if not close(ours, theirs, rtol, rtol * 1e-2):
                raise Mismatch("value", f"{name} is {ours}, of NumPy {theirs}")
        for name, value in program.leaves.items():
            if not np.array_equal(leaves[name].numpy(), value):
                raise Mismatch("value", f"the leaf {name} was overwritten")
        self.numbers(roots_of(program, env)[0])

    def numbers(self, roots):
        """A node has a higher number than those it leads to: by it they run, and gradients that meet are added."""
        waiting = {t.grad_fn for t in roots} - {None}
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            for following, _ in node.next_functions:
                if following is None or following in seen:
                    continue
                if node.sequence_nr <= following.sequence_nr < ACCUMULATORS:
                    message = f"{node}, number {node.sequence_nr}, leads to {following}, number {following.sequence_nr}"
                    raise Mismatch("sequence numbers", message)
                seen.add(following)
                waiting.add(following)

    def gradients(self, program, tape, precision):
        """The gradients of leaves and observed registers, each compared with differences."""
        gradients = gradients_of(program, observed=program.observed)
        directions = np.random.default_rng(program.seed + 1)
        for name, gradient in gradients.items():
            like = program.leaves.get(name)
            if (
                like is not None
                and gradient is not None
                and (gradient.shape, gradient.dtype) != (like.shape, like.dtype)
            ):
                raise Mismatch("gradient", f"of {name} is {gradient.dtype}{gradient.shape}")
            if name not in program.leaves and gradient is None:
                continue  # it does not require grad: nothing to compare, the leaves tell
            shape, complex_ = (like.shape, like.dtype.kind == "c") if like is not None else (
                gradient.shape, gradient.dtype.kind == "c")  # fmt: skip
            direction = random_direction(directions, shape, complex_)
            expected, error = self.differences(program, tape, precision, name, direction)
            self.counts.gradients += 1
            self.compare("gradient", name, program, gradient, direction, expected, error)
        return gradients

    def differences(self, program, tape, precision, name, direction):
        long = precision == "long"

        def value(h):
            machine = NumpyMachine(precision, tape=tape, moved={name: h * direction}, cells=self.cells)
            found = objective(machine.run(program), program.weights)
            return np.longdouble("nan") if machine.crossed else found  # a jump says nothing about the slope

        steps = (1e-3, 2e-4, 4e-5, 8e-6) if long else (4e-3, 1e-3, 2.5e-4)
        return directional(value, [np.longdouble(h) for h in steps])

    def compare_torch(self, program, native, gradients, second):
        """PyTorch's gradients and second derivatives, element by element; where it has them and the same views."""
        try:
            machine = TorchMachine()
            hooked = any(op in ("hook", "node_hook") for op in program.ops)
            # A hooked register is caught before its hooks there, after them here: docs/engine.md, EI7.
            theirs, values = machine.gradients(program, () if hooked else program.observed)
            if not all(close(value, native[name], 1e-9, 1e-11) for name, value in values.items()):
                return  # it copies where NumPy shares memory, or the reverse
            single = [name for name, value in values.items() if value.ndim == 0]
            if any(shared(values, *pair) and not shared(native, *pair) for pair in combinations(single, 2)):
                return  # the same, of scalars, where what was written left their values as they were
            self.elementwise("gradient, of PyTorch", gradients, theirs)
            names = [n for n in program.leaves if gradients[n] is not None and program.leaves[n].size]
            if second and names and not hooked:
                ours, weights = second_gradients(program, gradients, names)
                self.elementwise("second derivative, of PyTorch", ours, machine.second(program, names, weights))
        except Unsupported:
            return
        self.counts.torch += 1

    def elementwise(self, what, ours, theirs):
        for name, their in theirs.items():
            our = ours[name]
            if our is None and their is None:
                continue
            a = np.zeros_like(their) if our is None else our
            b = np.zeros_like(our) if their is None else their
            if not close(a, b, 1e-7, 1e-9):
                raise Mismatch(what, f"{name}: ours {a}, theirs {b}")

    def compare(self, what, name, program, gradient, direction, expected, error):
        ours = np.longdouble(0) if gradient is None else dot(gradient, direction)
        # The sum's own size: what cancels in it has lost its digits in any way of computing it.
        size = 0.0 if gradient is None else np.sum(np.abs(gradient) * np.abs(direction))
        size = max(size, abs(expected))
        if not np.isfinite(expected) or error > (1e-3 if program.low_precision else 1e-5) * max(size, 1e-3):
            self.counts.undecided += 1
            return
        rtol = 2e-3 if program.low_precision else 1e-7
        if not abs(ours - expected) <= rtol * max(size, 1e-2) + 10 * error:
            if program.low_precision and ill_conditioned(program, name, direction, abs(ours - expected)):
                self.counts.undecided += 1
                return
            raise Mismatch(
                what, f"of {name} along a direction is {float(ours)!r}, by differences {float(expected)!r} "
                f"(+- {float(error):.1g}); {name}: {gradient}, direction: {direction}"
            )  # fmt: skip

    def second_order(self, program, gradients, tape, precision):
        """The gradient of the gradients, against differences of arraygrad's own first gradients."""
        numbers = np.random.default_rng(program.seed + 2)
        names = [n for n in program.leaves if gradients[n] is not None and program.leaves[n].size]
        # A rule that uses its result passes through a hook on the result once more: what a hook makes of a gradient is
        # then not a function of the leaves that differences could follow.
        if not names or program.low_precision or any(op in ("hook", "node_hook") for op in program.ops):
            return
        weights = {n: random_direction(numbers, gradients[n].shape, gradients[n].dtype.kind == "c") for n in names}
        leaves = leaves_of(program)
        first = dict(zip(names, first_gradients(program, leaves, names, create_graph=True), strict=True))
        for name in names:
            if not close(first[name].numpy(), gradients[name], 1e-9, 1e-9):
                raise Mismatch("create_graph", f"{name}: {first[name].numpy()} instead of {gradients[name]}")
        kept = [n for n in names if first[n].requires_grad]
        second = dict.fromkeys(names)
        if kept:
            found = ag.autograd.grad(
                [first[n] for n in kept], [leaves[n] for n in names], [weights[n] for n in kept], allow_unused=True
            )
            second = dict(zip(names, found, strict=True))
        for name in names:
            direction = random_direction(numbers, gradients[name].shape, gradients[name].dtype.kind == "c")

            def value(h, name=name, direction=direction):
                moved = leaves_of(program, {name: h * direction})
                found = first_gradients(program, moved, names, tape=tape)
                return sum(dot(weights[n], g.numpy()) for n, g in zip(names, found, strict=True) if g is not None)

            expected, error = directional(value, (4e-3, 1e-3, 2.5e-4))
            self.counts.second += 1
            found = None if second[name] is None else second[name].numpy()
            size = 0.0 if found is None else np.sum(np.abs(found) * np.abs(direction))
            if not np.isfinite(expected) or error > 1e-5 * max(size, abs(expected), 1e-2):
                self.counts.undecided += 1
                continue
            ours = 0.0 if found is None else dot(found, direction)
            if not abs(ours - expected) <= 1e-6 * max(size, abs(expected), 1e-1) + 10 * error:
                raise Mismatch(
                    "second derivative",
                    f"by {name}: {float(ours)!r}, by differences {float(expected)!r} (+- {float(error):.1g})",
                )


def objective(env, weights):
    """The real number that a program is differentiated as."""
    return sum((dot(weight, env[name]) for name, weight in weights.items()), np.longdouble(0))


def ill_conditioned(program, name, direction, difference):
    """Whether relative changes of the leaves by float32's precision move the gradient by as much."""
    wide = {k: v.astype(np.complex128 if v.dtype.kind == "c" else np.float64) for k, v in program.leaves.items()}
    numbers = np.random.default_rng(5)
    found = []
    for _ in range(6):
        leaves = {
            k: ag.tensor(v * (1 + 3e-7 * numbers.uniform(-1, 1, v.shape)), requires_grad=True) for k, v in wide.items()
        }
        machine = ArraygradMachine()
        env = machine.run(program, leaves, [name])
        gradient = run_grad(program, env, [leaves[name] if name in leaves else machine.edges[name]])[0]
        found.append(0.0 if gradient is None else float(dot(gradient.numpy(), direction)))
    return difference <= 30 * (max(found) - min(found))
