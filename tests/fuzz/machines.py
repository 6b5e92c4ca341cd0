"""Who executes programs: NumPy, as reference, and arraygrad. Imports of arraygrad: the public face.

The reference differentiates by differences: it runs the program again on perturbed values. What a gradient does not
see must then not move: `detach` and `no_grad` give the unperturbed run's values again (the tape), and a hook that
scales a gradient by k becomes a value that moves k times as far.
"""

import numpy as np
import scipy.special

import arraygrad as ag

from .catalogue_table import reference
from .program import NEEDS, Invalid, offgrid

LIMIT = 300.0  # values beyond this have differences without digits

# -- in terms of whatever namespace is given -------------------------------------------------------------------------


def squash(xp, x, low, high):
    """Real values, smoothly into the interval."""
    return xp.atan(x * 0.5) * ((high - low) / 3.2) + (high + low) / 2  # not tanh: float32 has no digits of its slope


def tame(xp, z, centre=0.0):
    """Complex values, smoothly into the circle of radius 0.35 about the centre."""
    return z * (0.7 / (1.0 + (xp.square(xp.real(z)) + xp.square(xp.imag(z))))) + centre


# -- NumPy -----------------------------------------------------------------------------------------------------------


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def logsumexp(x, axis=None, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True)
    result = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdims else np.squeeze(result, axis=axis)[()]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def einsum(text, *operands):
    return np.einsum(text, *operands, optimize=False)


BEYOND = {
    "softmax": softmax,
    "log_softmax": lambda x, axis=-1: np.log(softmax(x, axis)),
    "logsumexp": logsumexp,
    "sigmoid": sigmoid,
    "relu": lambda x: np.where(x > 0, x, 0)[()],
    "einsum": einsum,
    "norm": lambda x: np.sqrt(np.sum(np.abs(x) ** 2)),
    "erf": scipy.special.erf,
    "gammaln": scipy.special.gammaln,
}


# -- as people write it ----------------------------------------------------------------------------------------------


def kept(value, by):
    """A scalar before and after an in-place operator, by a name that keeps the old one."""
    before = value
    value += by
    return before, value


def running(xp, vector):
    """Products of the elements so far: a loop over scalars that are kept while the name moves on."""
    total, seen = vector[0], []
    for element in vector[1:]:
        seen.append(total)
        total *= element
    return xp.stack([*seen, total])


class KeepsFloat32:
    """scipy.special, whose results here have the precision of the arguments; some of its functions know double only."""

    def __getattr__(self, name):
        def function(*arguments):
            result = np.asarray((getattr(scipy.special, name, None) or reference(np, name))(*arguments))
            return (result.astype(np.result_type(*arguments)) if result.dtype.kind == "f" else result)[()]

        return function


class Space:
    """NumPy's namespace as a program sees it, every array in the reference's precision (`real`, `complex`)."""

    def __init__(self, real, complex_):
        self.float64 = real
        self.complex128 = complex_
        self.float32 = real if real is not np.float64 else np.float32
        self.complex64 = complex_ if real is not np.float64 else np.complex64
        self.special = KeepsFloat32()
        self.native = real is np.float64

    def __getattr__(self, name):
        found = BEYOND.get(name) or getattr(np, name, None)
        if found is not None:
            return found
        composed = reference(self, name)
        if composed is None:
            raise AttributeError(f"neither NumPy nor the table has {name}")
        return lambda *arrays, **options: composed(*arrays, **options)[()]

    def asarray(self, value, dtype=None):
        value = np.asarray(value, dtype=dtype)
        if self.native or value.dtype.kind not in "fc":
            return value
        return value.astype(self.float64 if value.dtype.kind == "f" else self.complex128)

    def real(self, x):
        real = np.real(x)  # of real arrays NumPy returns the argument itself: a view of its own
        return real if isinstance(real, np.generic) else real[...]

    def sort(self, x, axis=-1, descending=False):
        result = np.sort(x, axis=axis)
        return np.flip(result, axis=axis).copy(order="K") if descending else result

    def broadcast_arrays(self, *arrays):
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        return tuple(np.broadcast_to(a, shape) for a in arrays)

    def clip(self, x, low, high):
        return np.minimum(np.maximum(x, low), high)

    def var(self, x, axis=None, correction=0.0, keepdims=False):
        return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)

    def std(self, x, axis=None, correction=0.0, keepdims=False):
        return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


class NumpyMachine:
    """Executes on plain NumPy arrays.

    `precision` is "native" (the program's own dtypes), "double" or "long". With a `tape` of an unperturbed run,
    `moved` maps names of leaves and registers to what is added to them. `crossed` says that an argument went from one
    step of a step function to another: `cells` are those where it was, of an unperturbed run that was checked.
    """

    def __init__(self, precision="native", tape=None, moved=None, checked=False, cells=()):
        types = {"native": (np.float64, np.complex128), "double": (np.float64, np.complex128)}
        self.real, self.complex = types.get(precision, (np.longdouble, np.clongdouble))
        self.native = precision == "native"
        self.space = Space(self.real, self.complex)
        if precision == "double":
            self.space.float32, self.space.complex64 = np.float64, np.complex128
            self.space.native = False
        self.replay = tape is not None
        self.tape = list(tape) if self.replay else []
        self.position = 0
        self.moved = moved or {}
        self.checked = checked
        self.cells = list(cells)
        self.visited = 0
        self.crossed = False

    def raised(self, array):
        if self.native or array.dtype.kind not in "fc":
            return np.array(array)
        return array.astype(self.real if array.dtype.kind == "f" else self.complex)

    def run(self, program):
        """The registers after the program."""
        env = {**self.environment(), **{k: self.raised(v) for k, v in program.constants.items()}}
        for name, value in program.leaves.items():
            env[name] = self.after(name, self.raised(value))
        with np.errstate(all="ignore"):
            return program.run(self, env)

    def environment(self):
        named = {f.__name__: f for f in (squash, tame, kept, running)}
        mine = ("detach", "frozen", "hook", "node_hook", "checkpoint", "Cube", "Mix", "Straight", "Double_")
        return {
            "xp": self.space,
            "np": self.space,
            "slice": slice,
            **NEEDS,
            "offgrid": self.offgrid,
            **named,
            **{n: getattr(self, n) for n in mine},
        }

    def before(self, need, env):
        if self.checked and not eval(need, env):
            raise Invalid("out of the domain")
        if self.cells and self.replay and "offgrid" in need.co_names and not eval(need, env):
            self.crossed = True

    def offgrid(self, value, spacing=0.5):
        cell = np.floor(np.asarray(value) / spacing)
        if not self.replay:
            self.cells.append(cell)
        elif self.visited >= len(self.cells) or not np.array_equal(cell, self.cells[self.visited]):
            self.crossed = True
        self.visited += 1
        return offgrid(value, spacing)

    def after(self, name, value):
        # What NumPy gives as a scalar stays one: an in-place operator gives the name a new value then.
        scalar = isinstance(value, np.generic)
        value = value if scalar else np.asarray(value)
        if self.checked and value.size and not np.max(np.abs(value)) < LIMIT:
            raise Invalid("too large, or not finite")
        if name in self.moved and scalar:
            return value + self.moved[name].astype(value.dtype)[()]
        if name in self.moved:
            value[...] = value + self.moved[name].astype(value.dtype)
        return value

    def base(self, value):
        """The value that the unperturbed run had here."""
        if not self.replay:
            self.tape.append(np.array(value))
        self.position += 1
        kept = self.tape[self.position - 1]
        # Laid out as the value was: views follow from that.
        return kept[()] if isinstance(value, np.generic) else kept.copy(order="K")

    def detach(self, x):
        return self.base(x)

    def frozen(self, function):
        return self.base(function())

    def hook(self, x, factor):
        if isinstance(x, np.generic):
            raise Invalid("a hook moves a value, which a scalar does not let it")
        base = self.base(x)
        if self.replay:
            x[...] = base + factor * (x - base)

    node_hook = hook

    def checkpoint(self, function):
        return function

    def Cube(self, x):
        return x * x * x

    def Mix(self, x, y):
        return x * y, np.sin(x) - y

    def Straight(self, x):
        return np.round(self.base(x)) + (x - self.tape[self.position - 1])

    def Double_(self, x):
        x *= 2
        return x


# -- arraygrad -------------------------------------------------------------------------------------------------------


class Cube(ag.autograd.Function):
    """x**3, its backward in recorded operations."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ag.conj(3 * x * x)


class Mix(ag.autograd.Function):
    """Two results of two arguments, in the other style."""

    @staticmethod
    def forward(x, y):
        return x * y, ag.sin(x) - y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        gx, gy = g * ag.conj(y) + h * ag.conj(ag.cos(x)), g * ag.conj(x) - h
        return tuple(
            (g if ag.isdtype(like.dtype, "complex floating") else ag.real(g)) if needed else None
            for g, like, needed in ((gx, x, ctx.needs_input_grad[0]), (gy, y, ctx.needs_input_grad[1]))
        )


class Straight(ag.autograd.Function):
    """Rounds; the gradient passes as if it did not."""

    @staticmethod
    def forward(ctx, x):
        return ag.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Double_(ag.autograd.Function):
    """Doubles its argument in place."""

    @staticmethod
    def forward(ctx, x):
        x *= 2
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def detach(x):
    return x.detach()


def frozen(function):
    with ag.no_grad():
        return function()


def hook(x, factor):
    """Scales the gradient of `x`."""
    if x.requires_grad:
        x.register_hook(lambda g: None if g is None else g * factor)


def node_hook(x, factor):
    """Scales what arrives at the node that made `x`."""
    if x.grad_fn is not None:
        x.grad_fn.register_prehook(lambda gs: tuple(None if g is None else g * factor for g in gs))


class ArraygradMachine:
    """Executes on arraygrad's tensors. `tape`: give these values for what is detached, as in the reference."""

    def __init__(self, tape=None):
        self.tape = tape
        self.position = 0
        self.edges = {}

    def base(self, value, given):
        """The value of the unperturbed run, if one is given; the position moves on as the reference's does."""
        self.position += 1
        if self.tape is None or not given:
            return value
        raw = self.tape[self.position - 1]
        return ag.asarray(np.array(raw.astype(value.dtype)))

    def straight(self, x):
        if self.tape is None:
            return (self.base(x, False), Straight.apply(x))[1]
        base = self.base(x, True)  # differences of its gradients need a value that moves as its gradient says
        return ag.round(base) + (x - base)

    def environment(self):
        env = {"xp": ag, "np": np, "squash": squash, "tame": tame, "kept": kept, "running": running}
        env["checkpoint"] = ag.checkpoint
        env["detach"] = lambda x: self.base(detach(x), True)
        env["frozen"] = lambda function: self.base(frozen(function), True)
        env["hook"] = lambda x, k: (self.base(x, False), hook(x, k))[1]
        env["node_hook"] = lambda x, k: (self.base(x, False), node_hook(x, k))[1]
        env["Straight"] = self.straight
        return {**env, "Cube": Cube.apply, "Mix": Mix.apply, "Double_": Double_.apply}

    def run(self, program, leaves=None, observed=()):
        """The registers after the program; `self.edges` has where the gradients of `observed` registers arrive."""
        self.observed = frozenset(observed)
        env = {**self.environment(), **{k: ag.tensor(v) for k, v in program.constants.items()}}
        if leaves is None:
            leaves = {k: ag.tensor(v, requires_grad=True) for k, v in program.leaves.items()}
        env.update(leaves)
        with np.errstate(all="ignore"):
            return program.run(self, env)

    def before(self, need, env):
        pass

    def after(self, name, value):
        if name in self.observed and isinstance(value, ag.Tensor) and value.requires_grad:
            self.edges[name] = ag.autograd.graph.get_gradient_edge(value)
        return value


HELPERS = (squash, tame, kept, running, detach, frozen, hook, node_hook, Cube, Mix, Straight, Double_)
