"""Elementwise kernels made of the table: one launch for all gradients of a node, one for a composed forward.

May import: backends.cuda.fusion, ops, ops.expression, numpy. CuPy is handed in as a module, so that everything but a
launch works without.

A kernel belongs to an operation, the gradients that are wanted and the dtypes; it is traced and compiled when first
needed and kept for the process (CuPy keeps compiled code on disk too). See Note [Expressions] in ops.expression.
"""

import re

import numpy

from arraygrad.backends.cuda.fusion import PREAMBLE, c_type, statements
from arraygrad.ops import OPS
from arraygrad.ops.expression import Expression, ExpressionNamespace, Symbol, Untraceable, cast

__all__ = ["ElementwiseKernels", "Spec", "trace_forward", "trace_rules"]

# What a rule's parameter is filled with: arraygrad.core.op's PlanKind.
_G, _XP, _SAVED, _SHAPE, _DTYPE, _DEVICE, _STATIC = range(7)


class Spec:
    """What one kernel computes.

    Attributes
    ----------
    inputs, outputs : list of (name, dtype)
    body : str
        Statements for one element.
    results : list
        Per rule: the number of an output, "g" for the gradient itself, None for what is not wanted.
    """

    def __init__(self, expression, results):
        self.results, self.outputs, computed = [], [], []
        for found in results:
            if found is None or isinstance(found, str):
                self.results.append(found)
                continue
            self.results.append(len(self.outputs))
            self.outputs.append((f"o{len(self.outputs)}", found.dtype))
            computed.append(found)
        lines, codes, read = statements(computed)
        stores = [f"{name} = {code};" for (name, _), code in zip(self.outputs, codes, strict=True)]
        self.statements = len(lines)
        self.body = "\n".join([*lines, *stores])
        # The first input stays: it gives the kernel its shape.
        self.inputs = [(x.name, x.dtype) for i, x in enumerate(expression.inputs) if i == 0 or x.name in read]

    def signature(self):
        """(inputs, outputs) as cupy.ElementwiseKernel takes them."""
        return tuple(", ".join(f"{dtype.name} {name}" for name, dtype in part) for part in (self.inputs, self.outputs))


def _forward_in_table(name):
    op = OPS.get(name)
    return None if op is None or op.kind != "elementwise" else op.entry.forward


def trace_rules(op, g, wanted, saved, statics, targets, absorbs):
    """The Spec of all wanted gradients of a node.

    Parameters
    ----------
    op : Op
    g : numpy.dtype
        Of the gradient.
    wanted : int
        Bit k: the rule of op.inputs[k].
    saved, statics : list
        Per slot: a numpy.dtype for an array or scalar, anything else as it is.
    targets : list
        Per rule: the dtype of the gradient, None: whatever the rule gives.
    absorbs : bool
        A gradient that is exactly zero stays zero.

    Raises
    ------
    Untraceable
        If a rule is not elementwise.
    """
    expression = Expression()
    xp = ExpressionNamespace(expression, _forward_in_table)
    g = expression.input("g", g)
    saved = [expression.input(f"a{k}", s) if isinstance(s, numpy.dtype) else s for k, s in enumerate(saved)]
    statics = [expression.input(f"s{k}", s) if isinstance(s, numpy.dtype) else s for k, s in enumerate(statics)]
    conj = op.holomorphic and g.dtype.kind == "c"
    arriving = xp.conj(g) if conj else g
    results = []
    for k, rule in enumerate(op.rules):
        if not wanted >> k & 1:
            results.append(None)
            continue
        found = rule(*[_argument(op, what, index, arriving, xp, saved, statics, g) for what, index in op.plans[k]])
        if found is None:
            results.append(None)
            continue
        if not isinstance(found, Symbol):
            raise Untraceable(f"{op.name}: its rule gives {type(found).__name__}")
        if conj:
            found = xp.conj(found)
        if absorbs:
            found = xp.where(g == 0, 0.0, found)
        if targets[k] is not None and not (found.dtype.kind == "c" and targets[k].kind != "c"):
            found = cast(expression, found, targets[k])
        results.append("g" if found is g else found)
    return Spec(expression, results)


def _argument(op, what, index, g, xp, saved, statics, result):
    if what == _G:
        return g
    if what == _XP:
        return xp
    if what == _SAVED:
        return saved[index]
    if what == _STATIC:
        return statics[op.static_positions.index(index)]
    if what == _DTYPE:
        return result.dtype if saved[index] is None else saved[index].dtype
    if what == _DEVICE:
        return None
    raise Untraceable(f"{op.name}: its rule asks for a shape")


def trace_forward(op, dtypes):
    """The Spec of an operation's forward on arrays of `dtypes`. Raises Untraceable if it is not elementwise."""
    return trace_chain([op], dtypes)


def trace_chain(ops, dtypes):
    """The Spec of an operation on arrays of `dtypes`, and of those that follow, each of the value before it."""
    expression = Expression()
    xp = ExpressionNamespace(expression, _forward_in_table)
    operands = [expression.input(f"a{k}", dtype) for k, dtype in enumerate(dtypes)]
    results = []
    for op in ops:
        if op.entry.forward is None:
            found = getattr(xp, op.name)(*operands)
        else:
            found = op.entry.forward(_Once(xp, op), *operands)
        if not isinstance(found, Symbol):
            raise Untraceable(f"{op.name}: its forward gives {type(found).__name__}")
        results.append(found)
        operands = [found]
    return Spec(expression, results)


class _Once:
    """A namespace in which an operation's own name is the library's function, as in a forward that repairs it."""

    def __init__(self, xp, op):
        self._xp, self._name = xp, op.name

    def __getattr__(self, name):
        if name == self._name and name not in dir(ExpressionNamespace):
            fallback, self._xp._fallback = self._xp._fallback, None
            try:
                return getattr(self._xp, name)
            finally:
                self._xp._fallback = fallback
        return getattr(self._xp, name)


class ElementwiseKernels:
    """ElementwiseKernels(cupy): the compiled kernels, by operation and dtypes; None where the rules run as they are."""

    def __init__(self, cupy):
        self._cupy = cupy
        self._rules = {}
        self._forwards = {}

    def rules(self, op, g, wanted, saved, statics, targets, absorbs):
        """The wanted gradients of a node from one launch, as Backend.fused gives them; None: not by a kernel."""
        if op.kind != "elementwise" or isinstance(g, tuple):
            return None
        array = self._cupy.ndarray
        shape = g.shape
        key = (
            op.index,
            wanted,
            absorbs,
            g.dtype,
            *[_key(s, array) for s in saved],
            *[_static_key(s, array) for s in statics],
            *[t.dtype if t is not None and t.shape == shape else None for t in targets],
        )
        found = self._rules.get(key, self)
        if found is self:
            found = self._rules[key] = self._make_rules(op, g, wanted, saved, statics, targets, absorbs)
        if found is None:
            return None
        kernel, places, results = found
        if kernel is None:
            outputs = ()
        else:
            arguments = [g if k < 0 else saved[k] if k < len(saved) else statics[k - len(saved)] for k in places]
            outputs = kernel(*arguments)
        return [r if r is None else g if r == "g" else outputs[r] for r in results]

    def _make_rules(self, op, g, wanted, saved, statics, targets, absorbs):
        traced = self.rules_spec(op, g, wanted, saved, statics, targets, absorbs)
        if traced is None:
            return None
        spec, places = traced
        kernel = self._compile(spec, f"arraygrad_{op.name}_backward") if spec.outputs else None
        return kernel, places, spec.results

    def rules_spec(self, op, g, wanted, saved, statics, targets, absorbs):
        """(Spec, place of each of its inputs: -1 for g, else in saved and statics) of a node; None: no kernel."""
        array = self._cupy.ndarray

        def described(x):
            if isinstance(x, array):
                return x.dtype
            return g.dtype if isinstance(x, (bool, int, float, complex)) else x

        try:
            spec = trace_rules(
                op,
                g.dtype,
                wanted,
                [described(s) for s in saved],
                [s.dtype if isinstance(s, array) else s for s in statics],
                [t.dtype if t is not None and t.shape == g.shape else None for t in targets],
                absorbs,
            )
        except Exception:  # whatever a rule does to symbols that they cannot: it runs on arrays then, and says so there
            return None
        places = [
            -1 if name == "g" else int(name[1:]) + (len(saved) if name[0] == "s" else 0) for name, _ in spec.inputs
        ]
        return spec, places

    def forward_spec(self, op, dtypes):
        """The Spec of an operation's forward; None: the library's function computes it."""
        try:
            spec = trace_forward(op, dtypes)
        except Exception:  # as above
            return None
        return spec if len(spec.inputs) == len(dtypes) else None

    def chain_spec(self, op, dtypes, follower):
        """The Spec of an operation and of a map of its value, two outputs; None: they are not for one kernel."""
        try:
            spec = trace_chain([op, follower], dtypes)
        except Exception:  # as above
            return None
        return spec if len(spec.inputs) == len(dtypes) and len(spec.outputs) == 2 else None

    def sum_spec(self, dtype):
        """The Spec of a + b."""
        expression = Expression()
        a, b = (expression.input(name, dtype) for name in "ab")
        return Spec(expression, [a + b])

    def fill_spec(self, dtype):
        """The Spec of a number everywhere."""
        expression = Expression()
        return Spec(expression, [expression.input("a", dtype)])

    def forward(self, op, args):
        """The value of a composed forward from one launch; None: not by a kernel."""
        array = self._cupy.ndarray
        key = (op.index, *[a.dtype if isinstance(a, array) else type(a) for a in args])
        kernel = self._forwards.get(key, self)
        if kernel is self:
            kernel = self._forwards[key] = self._make_forward(op, args)
        return None if kernel is None else kernel(*args)[0]

    def _make_forward(self, op, args):
        array = self._cupy.ndarray
        if not any(isinstance(a, array) for a in args):
            return None
        try:
            common = numpy.result_type(*[a.dtype if isinstance(a, array) else a for a in args])
            spec = trace_forward(op, [a.dtype if isinstance(a, array) else common for a in args])
        except Exception:  # as above
            return None
        if spec.statements < 2 or len(spec.inputs) != len(args):
            return None  # the library's own function is one launch already
        return self._compile(spec, f"arraygrad_{op.name}")

    def _compile(self, spec, name):
        inputs, outputs = spec.signature()
        return self._cupy.ElementwiseKernel(
            inputs, outputs, spec.body, re.sub(r"\W", "_", name), preamble=PREAMBLE, return_tuple=True
        )


def _key(x, array):
    """What of a saved value a kernel depends on: the dtype of an array or of metadata; scalars are arguments."""
    if isinstance(x, array):
        return x.dtype
    return None if x is None else ("dtype", getattr(x, "dtype", None))


def _static_key(x, array):
    """What of a static parameter a kernel depends on: its value is part of the kernel, unless it is an array."""
    return x.dtype if isinstance(x, array) else (type(x), repr(x))


def statement_types(spec):
    """(C++ type, name) of the arguments of a Spec, inputs first: for compiling it on the host."""
    return [(c_type(dtype), name) for name, dtype in (*spec.inputs, *spec.outputs)]
