"""Programs: Python statements over named arrays that several libraries can execute. Imports nothing of arraygrad.

A statement computes one register from others, or writes into one. It is kept as text: `xp` and `np` are the namespaces
of whoever executes it, and so a program printed with arraygrad's own is a script to run.
"""

import functools
import inspect
from dataclasses import dataclass, field

import numpy as np

MARGIN = 0.03  # how far values stay from kinks: well over every difference step and float32's rounding


class Invalid(Exception):
    """The program leaves the ground where gradients are defined: near a kink or tie, out of a domain, too large."""


class Unsupported(Exception):
    """A reference cannot express this statement."""


@dataclass(frozen=True)
class Step:
    """One statement. `need` must hold before it, by the reference's values; `ops` names what it exercises."""

    code: str
    ops: tuple
    outs: tuple = ()
    need: str = "True"

    @functools.cached_property
    def compiled(self):
        return compile(self.code, "<step>", "exec"), compile(self.need, "<need>", "eval")


@dataclass(frozen=True)
class Program:
    """`leaves` maps names to arrays, `weights` the root registers to the gradients that arrive there."""

    leaves: dict
    constants: dict
    steps: tuple
    weights: dict
    observed: tuple = ()  # registers whose own gradient is compared
    seed: int = 0
    ops: tuple = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "ops", tuple(op for step in self.steps for op in step.ops))

    def run(self, machine, env):
        """Executes the statements in `env`, which holds the leaves; `machine` sees each result."""
        for step in self.steps:
            code, need = step.compiled
            machine.before(need, env)
            exec(code, env)
            for name in step.outs:
                env[name] = machine.after(name, env[name])
        return env

    @property
    def low_precision(self):
        """Whether anything is computed with 24 bits."""
        arrays = (*self.leaves.values(), *self.constants.values())
        return any(a.dtype in (np.float32, np.complex64) for a in arrays) or any(
            "float32" in s.code or "complex64" in s.code for s in self.steps
        )

    def source(self, functions=()):
        """The program as a script of arraygrad's that prints its gradients."""
        lines = [f"# seed {self.seed}", "import numpy as np", "import arraygrad as ag", "", "xp = ag"]
        text = "\n".join(step.code for step in self.steps)
        for function in functions:
            if function.__name__ + "(" in text:
                lines += ["", inspect.getsource(function).rstrip()]
                if inspect.isclass(function):
                    lines.append(f"{function.__name__} = {function.__name__}.apply")
        if "checkpoint(" in text:
            lines.append("checkpoint = ag.checkpoint")
        for name, value in self.constants.items():
            lines.append(f"{name} = ag.asarray({literal(value)})")
        for name, value in self.leaves.items():
            lines.append(f"{name} = ag.tensor({literal(value)}, requires_grad=True)")
        edges = [name for name in self.observed if name not in self.leaves]
        for step in self.steps:
            lines.append(step.code)
            for name in step.outs:
                if name in edges:
                    lines.append(f"edge_{name} = ag.autograd.graph.get_gradient_edge({name})")
        lines.append(f"roots = [{', '.join(self.weights)}]")
        lines.append(f"weights = [{', '.join('None' if w is None else literal(w) for w in self.weights.values())}]")
        inputs = [*self.leaves, *(f"edge_{name}" for name in edges)]
        lines.append(f"print(ag.autograd.grad(roots, [{', '.join(inputs)}], weights, allow_unused=True))")
        return "\n".join(lines)


def literal(array):
    """Python text that makes this array again."""
    array = np.asarray(array)
    if array.size == 0:
        return f"np.zeros({array.shape}, dtype=np.{array.dtype.name})"
    return f"np.array({array.tolist()!r}, dtype=np.{array.dtype.name})"


# -- what `need` may say, of NumPy arrays ----------------------------------------------------------------------------


def far(value, *points):
    """Every element is away from each of the points."""
    return all(bool(np.all(np.abs(np.asarray(value) - p) > MARGIN)) for p in points)


def inside(value, low, high):
    """Every element is real and between the bounds."""
    value = np.asarray(value)
    return value.dtype.kind == "f" and bool(np.all((value > low) & (value < high)))


def distinct(value, axis=-1):
    """No two elements along the axis are near each other."""
    value = np.asarray(value)
    if axis is None:
        value, axis = value.reshape(-1), 0
    return value.ndim == 0 or bool(np.all(np.diff(np.sort(value, axis=axis), axis=axis) > MARGIN))


def offgrid(value, spacing=0.5):
    """No element is near a multiple of the spacing, nor so large that its own digits end there."""
    value = np.asarray(value) / spacing
    return bool(np.all((np.abs(value - np.round(value)) > MARGIN) & (np.abs(value) < 1e6)))


NEEDS = {f.__name__: f for f in (far, inside, distinct, offgrid)}
