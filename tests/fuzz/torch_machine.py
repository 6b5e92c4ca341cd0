"""PyTorch as a second reference, where it is installed: the same statements, another library's engine and rules.

Only double precision: PyTorch promotes 0-d tensors by rules of its own. Imports nothing of arraygrad; `torch` and
array-api-compat only when a machine is made.
"""

import warnings

import numpy as np

from .catalogue_table import reference
from .machines import squash, tame
from .program import NEEDS, Unsupported

# What PyTorch raises for what it cannot do: negative steps, written values that a node needs, other arguments.
REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, IndexError, KeyError, AssertionError)
# Methods of Tensor that mean something else than NumPy's, and what means the same.
REWRITTEN = ((".copy()", ".clone()"), (".flatten()", ".reshape(-1).clone()"))
REFUSED = (".transpose()", "float32", "complex64")
SPECIAL = """digamma erf erfc erfcx erfinv entr expit gammaln i0 i0e i1 i1e log_ndtr logit multigammaln ndtr ndtri
polygamma sinc xlog1py xlogy""".split()
NUMPY = """sum mean moveaxis where tensordot roll einsum stack prod expand_dims matmul add subtract multiply divide
sin cos tanh exp log sqrt square""".split()
RENAMED = {"concatenate": "concat", "cumsum": "cumulative_sum", "power": "pow"}


class TorchMachine:
    """Executes a program on PyTorch's tensors; `edges` has where the gradients of `observed` registers arrive."""

    def __init__(self):
        import array_api_compat.torch as compat
        import torch

        self.torch, self.compat = torch, compat
        self.edges = {}
        self.functions = functions(torch)

    def run(self, program, observed=()):
        """(leaves, registers) after the program; Unsupported where PyTorch does not have it."""
        torch = self.torch
        if program.low_precision or any(text in s.code for s in program.steps for text in REFUSED):
            raise Unsupported
        self.observed = observed
        leaves = {k: torch.tensor(v, requires_grad=True) for k, v in program.leaves.items()}
        env = {**self.environment(), **leaves, **{k: torch.tensor(v) for k, v in program.constants.items()}}
        with warnings.catch_warnings(), powers(torch):
            warnings.simplefilter("ignore")
            try:
                for step in program.steps:
                    exec(rewritten(step.code), env)
                    for name in step.outs:
                        self.after(name, env[name])
            except REFUSALS as error:
                raise Unsupported from error
        return leaves, env

    def after(self, name, value):
        if not isinstance(value, self.torch.Tensor):
            raise Unsupported
        # A view is not observed: a write gives its base a new history, and what is caught below that differs.
        if name in self.observed and value.requires_grad and not value._is_view():
            self.edges[name] = self.torch.autograd.graph.get_gradient_edge(value)

    def environment(self):
        named = {f.__name__: f for f in (squash, tame)}
        named.update(dict.fromkeys(NEEDS))
        space = Space(self.torch, self.compat)
        return {"xp": space, "np": NumpyNames(space), **named, **self.functions}

    def gradients(self, program, observed=()):
        """{name: NumPy array or None} of leaves and observed registers, and the values of the registers."""
        leaves, env = self.run(program, observed)
        names = [*leaves, *self.edges]
        found = self.grad(program, env, [*leaves.values(), *self.edges.values()])
        values = {n: env[n].numpy(force=True) for n in {*leaves, *(n for s in program.steps for n in s.outs)}}
        return {n: array(g) for n, g in zip(names, found, strict=True)}, values

    def second(self, program, names, weights):
        """The gradients of the weighted first gradients by the leaves `names`."""
        leaves, env = self.run(program)
        inputs = [leaves[n] for n in names]
        first = self.grad(program, env, inputs, create_graph=True)
        pairs = [
            (g, self.torch.tensor(weights[n]))
            for n, g in zip(names, first, strict=True)
            if g is not None and g.requires_grad
        ]
        found = [None] * len(names)
        if pairs:
            found = self.refusing(
                self.torch.autograd.grad, [g for g, _ in pairs], inputs, [w for _, w in pairs], allow_unused=True
            )
        return {n: array(g) for n, g in zip(names, found, strict=True)}

    def grad(self, program, env, inputs, **options):
        roots = [n for n in program.weights if env[n].requires_grad]
        weights = [self.torch.tensor(program.weights[n]) for n in roots]
        if not roots:
            return [None] * len(inputs)
        return self.refusing(
            self.torch.autograd.grad, [env[n] for n in roots], inputs, weights, allow_unused=True, **options
        )

    @staticmethod
    def refusing(function, *arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return function(*arguments, **options)
            except REFUSALS as error:
                raise Unsupported from error


def array(gradient):
    return None if gradient is None else gradient.numpy(force=True)


def rewritten(code):
    for ours, theirs in REWRITTEN:
        code = code.replace(ours, theirs)
    return code


def powers(torch):
    """A context in which a power with an exponent that is zero and requires grad is Unsupported, however it is written.

    PyTorch drops the mixed derivative there: differences.py of the reference tests.
    """

    class Powers(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            name = getattr(func, "__name__", "").strip("_")
            if name in ("pow", "rpow", "ipow", "float_power"):
                exponent = args[0 if name == "rpow" else 1]
                if isinstance(exponent, torch.Tensor) and exponent.requires_grad and (exponent == 0).any():
                    raise Unsupported
            return func(*args, **(kwargs or {}))

    return Powers()


def functions(torch):
    """What programs call beside the namespaces, in PyTorch's own terms."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (3 * x * x).conj()

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(x)

        @staticmethod
        def backward(ctx, g):
            return g

    class Double_(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def frozen(function):
        with torch.no_grad():
            x = function()
        return x.detach() if x.requires_grad else x  # PyTorch's real of a real tensor is the tensor itself

    def hook(x, factor):
        if x.requires_grad:
            x.register_hook(lambda g: None if g is None else g * factor)

    def node_hook(x, factor):
        if x.grad_fn is not None:
            x.grad_fn.register_prehook(lambda gs: tuple(None if g is None else g * factor for g in gs))

    def unsupported(*args):
        raise Unsupported  # a tensor without axes is written in place there

    return {
        "kept": unsupported,
        "running": unsupported,
        "Cube": Cube.apply,
        "Mix": lambda x, y: (x * y, torch.sin(x) - y),
        "Straight": Straight.apply,
        "Double_": Double_.apply,
        "detach": lambda x: x.detach(),
        "frozen": frozen,
        "hook": hook,
        "node_hook": node_hook,
        "checkpoint": lambda function: function,
    }


class Space:
    """array-api-compat's namespace, and what stands beyond the standard."""

    def __init__(self, torch, compat):
        self._torch, self._compat = torch, compat
        self.special = Special(torch)
        self.erf, self.gammaln = torch.special.erf, torch.special.gammaln
        self.sigmoid, self.relu, self.einsum = torch.sigmoid, torch.relu, torch.einsum
        self.linalg = RowMajor(compat.linalg)

    def __getattr__(self, name):
        composed = None if hasattr(self._compat, name) else reference(self, name)
        return composed or getattr(self._compat, name)

    def asarray(self, value, dtype=None):
        return value if isinstance(value, self._torch.Tensor) else self._torch.as_tensor(value, dtype=dtype)

    # NumPy gives new arrays here, PyTorch the argument itself.

    def positive(self, x):
        return x.clone()

    def conj(self, x):
        return x.conj().clone()  # besides, PyTorch's conj of what requires grad does so under no_grad, too

    def real(self, x):
        return self._torch.real(x) if x.is_complex() else x[...]

    def softmax(self, x, axis=-1):
        return self._torch.softmax(x, axis)

    def log_softmax(self, x, axis=-1):
        return self._torch.log_softmax(x, axis)

    def logsumexp(self, x, axis=None, keepdims=False):
        axis = tuple(range(x.ndim)) if axis is None else axis
        return self._torch.logsumexp(x, axis, keepdims)

    def norm(self, x):
        return self._torch.linalg.norm(x.reshape(-1))

    def pad(self, x, width):
        return self._torch.nn.functional.pad(x, (width, width) * x.ndim)

    def repeat(self, x, count, axis=None):
        return self._torch.repeat_interleave(x, count, axis)


class RowMajor:
    """PyTorch's linear algebra with matrices in row-major order, as NumPy's: of others reshape gives copies."""

    def __init__(self, functions):
        self._functions = functions

    def __getattr__(self, name):
        function = getattr(self._functions, name)

        def call(*arguments, **options):
            result = function(*arguments, **options)
            return result.contiguous() if hasattr(result, "contiguous") else result

        return call


class Special:
    def __init__(self, torch):
        self._torch = torch

    def __getattr__(self, name):
        if name == "log_expit":
            return self._torch.nn.functional.logsigmoid
        if name not in SPECIAL:
            raise Unsupported
        function = getattr(self._torch.special, name)
        return function


class NumpyNames:
    """What programs take from NumPy: indices and constants, and functions of the standard by NumPy's names."""

    def __init__(self, space):
        self._space = space
        self.int64, self.bool, self.float64 = np.int64, np.bool_, np.float64

    def array(self, value, dtype=None):
        return self._space._torch.from_numpy(np.array(value, dtype=bool if dtype is bool else dtype))

    def eye(self, n):
        return self.array(np.eye(n))

    def arange(self, n):
        return np.arange(n)

    def diag(self, value):
        return self.array(np.diag(value))

    def pad(self, x, width):
        return self._space.pad(x, width)

    def __getattr__(self, name):
        name = RENAMED.get(name, name)
        if name not in NUMPY and name not in RENAMED.values():
            raise Unsupported
        function = getattr(self._space, name)

        def with_out(*arguments, out=None, **options):
            result = function(*arguments, **options)
            return result if out is None else out.copy_(result)

        return with_out
