"""What solved problems share: their arguments, what a solver handed back, and the node that stands for the solution.

May import: autograd.source_locations, core.containers, engine, ops, core.constructors, core.tensor,
transforms.tracked_call. `arraygrad.implicit` is the public face.
"""

from __future__ import annotations

import sys
import types

import numpy

from arraygrad.autograd.source_locations import own_frame, source_of, where_text
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.engine.node import is_grad_enabled
from arraygrad.ops import OPS
from arraygrad.transforms.tracked_call import TrackedCall, function_name, meta_of

__all__ = [
    "NUMBERS",
    "Arguments",
    "Called",
    "ConvergenceError",
    "array_function",
    "as_tensor",
    "directly",
    "namespace_of",
    "noting_class",
    "products",
    "raw",
    "raw_function",
    "solution_of",
    "solve_dense",
    "solving",
    "starting_point",
]

_IMPLICIT = OPS["_implicit"]
NUMBERS = frozenset((float, int, complex, numpy.float64))


class ConvergenceError(RuntimeError):
    """A solver did not converge, so that the implicit function theorem says nothing about what it returned.

    Its message says how far the result is from a solution, and what to ask the solver for. It is a RuntimeError.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> stuck = ag.implicit.root(lambda x, a: x**2 - a, lambda fun, x0: x0)
    >>> ag.grad(lambda a: stuck(1.0, a))(2.0)
    Traceback (most recent call last):
        ...
    arraygrad.implicit.common.ConvergenceError: ...
    """


class Called:
    """The name of a solver, for errors of backward: as text it has the line of the program that called it before.

    Parameters
    ----------
    name : str
    """

    __slots__ = ("at", "code", "line", "name")

    def __init__(self, name):
        frame = own_frame(sys._getframe(1))
        self.name, self.code, self.line, self.at = name, frame.f_code, frame.f_lineno, frame.f_lasti

    def __str__(self):
        expression = source_of(self.code, self.at, {})
        return f"{where_text(self.code.co_filename, self.line, self.code.co_qualname, expression)}: {self.name}"


class Arguments:
    """The arguments that a solved problem depends on.

    Parameters
    ----------
    args : tuple
        Anything; nested containers are looked into for Tensors.

    Attributes
    ----------
    tensors : list of Tensor
        Those that require grad (none while nothing is recorded), in order.
    any_tensor : bool
        The problem was given a Tensor, so that its solution is one.
    """

    def __init__(self, args):
        self._leaves, self._structure = flatten(tuple(args))
        self.any_tensor = any(isinstance(leaf, Tensor) for leaf in self._leaves)
        self._at = []
        self.tensors = []
        if is_grad_enabled():
            for i, leaf in enumerate(self._leaves):
                if isinstance(leaf, Tensor) and leaf.requires_grad:
                    self._at.append(i)
                    self.tensors.append(leaf)
        # Everything else is a constant; what is differentiated is handed over again by whoever differentiates.
        self._leaves = [raw(leaf) for leaf in self._leaves]

    def raw(self):
        """The arguments with raw arrays in place of Tensors."""
        return unflatten(self._structure, self._leaves)

    def rebuilt(self, arrays):
        """The arguments with `arrays` (raw or Tensors) in place of those that are differentiated."""
        leaves = list(self._leaves)
        for i, array in zip(self._at, arrays, strict=True):
            leaves[i] = array
        return unflatten(self._structure, leaves)

    def constants(self):
        """(number, raw value) of the leaves that are not differentiated, and the structure that all stand in."""
        return [(i, leaf) for i, leaf in enumerate(self._leaves) if i not in self._at], self._structure

    def positions(self):
        """Which leaves are differentiated, by number."""
        return tuple(self._at)

    def attach(self, problem):
        """`problem.solution` as a Tensor whose gradients `problem.pull` computes; raw where all arguments are."""
        if self.tensors:
            return apply_op(_IMPLICIT, (self.tensors, problem))
        return wrap_raw(problem.solution) if self.any_tensor else problem.solution


def namespace_of(array):
    """The differentiable namespace of a Tensor, the raw one of a raw array."""
    return array.__array_namespace__() if isinstance(array, Tensor) else meta_of(array).ops.xp


def as_tensor(array):
    """A Tensor over a raw array (its own library need not know what to do with Tensors); a Tensor as it is."""
    return array if isinstance(array, Tensor) else wrap_raw(array)


def raw(value):
    """The raw array of a Tensor; anything else as it is."""
    return value.array if isinstance(value, Tensor) else value


def array_function(f):
    """`f` with its result as one array where it is a list or tuple of numbers, which SciPy's solvers take, too."""

    def function(*args):
        found = f(*args)
        return _as_array(found) if isinstance(found, (list, tuple)) else found

    function.__name__ = function_name(f)
    for name in ("direct", "on_copies", "seen"):
        if hasattr(f, name):
            setattr(function, name, getattr(f, name))
    return function


def directly(f):
    """What a backward run may call many times in the place of `f`, which `array_function` has made."""
    if not hasattr(f, "direct"):
        return f
    again, _ = f.direct()

    def function(*args):
        found = again(*args)
        return _as_array(found) if isinstance(found, (list, tuple)) else found

    function.__name__ = f.__name__
    return function


def _as_array(found):
    """A list or tuple of numbers as one array, or a Tensor where there is one in it."""
    if NUMBERS.issuperset(map(type, found)):
        return numpy.array(found)
    return asarray(found) if any(isinstance(leaf, Tensor) for leaf in flatten(found)[0]) else numpy.asarray(found)


def raw_function(name, f, args, first=1):
    """The function of raw arrays `x -> f(x, *args)` that solvers are given; it may be given Tensors as well.

    It takes `first` arguments before those in `args`: two for right sides f(t, y, *args).

    Raises (when called)
    --------------------
    TypeError
        If the result for a raw array requires grad: `f` then depends on a Tensor that is not among its arguments, whose
        gradient would be lost.
    """
    args = tuple(args)

    def checked(result, x):
        return result if not isinstance(result, Tensor) or isinstance(x, Tensor) else _released(name, f, result)

    if first == 2:
        return lambda t, y: checked(f(t, y, *args), y)
    return lambda x: checked(f(x, *args), x)


def _released(name, f, result):
    if result.requires_grad:
        raise TypeError(
            f"{name}: '{function_name(f)}' depends on a Tensor that requires grad and is not among its "
            "arguments, so its gradient would be lost: pass it as an argument. Of an object that holds it "
            "pass what it is made of, and make it in the function; an array that the function only works in is "
            "made there, too: work = numpy.empty(n)"
        )
    return result.array


class solving:
    """Context of one solution of a differential equation; gives the right side f(t, y) on raw arrays.

    It is called as directly as may be, and may return a list or tuple of numbers, which SciPy's solvers take. Its
    attribute `parts(t, y)` gives (function of (t, y, *args), args, changed, bare): the same without a look at results,
    for one solution from there, which does not count where changed() is true afterwards. `bare`: it reads no Tensors.

    Parameters
    ----------
    name : str
        Of the solver.
    f : callable
        f(t, y, *args), made by `array_function`.
    args : sequence
    """

    def __init__(self, name, f, args):
        now, self._called = f.direct() if hasattr(f, "direct") else (f, None)
        if isinstance(now, types.FunctionType):  # NumPy computes faster with its numbers than with arrays of no axis
            args = [a[()] if type(a) is numpy.ndarray and not a.ndim else a for a in args]

        def right_side(t, y):
            found = now(t, y, *args)
            if type(found) is numpy.ndarray:
                return found
            if isinstance(found, (list, tuple)):
                if NUMBERS.issuperset(map(type, found)):
                    return found
                found = _as_array(found)
            return _released(name, f, found) if isinstance(found, Tensor) else found

        def parts(t, y):
            if getattr(now, "plainly", None) is None:
                return now, args, None, not hasattr(now, "plainly")
            n = len(args) - len(now.tensors)
            function, changed = now.plainly((t, y, *args[:n]), args[n:])
            return function, args[:n], changed, True

        right_side.parts = parts
        self._right_side = right_side

    def __enter__(self):
        return self._right_side

    def __exit__(self, kind, error, traceback):
        if self._called is not None:
            self._called()


def products(f, *arrays):
    """`vjp` of a function of raw arrays of NumPy with one result, without its checks and its care for outer graphs.

    Parameters
    ----------
    f : callable
    *arrays : numpy.ndarray
        All are differentiated.

    Returns
    -------
    value : array
    pull : callable
        `pull(cotangent)`: a raw gradient of each array, or None where it is zero. The cotangent has the shape of the
        value; it may be called any number of times.
    """
    tracked = TrackedCall("vjp", f, arrays, tuple(range(len(arrays)))).call()
    result = tracked.outputs[0]
    value = raw(result)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return value, lambda cotangent: (None,) * len(arrays)
    dtype, indices = value.dtype, (0,)

    def pull(cotangent):
        if cotangent.dtype != dtype:
            cotangent = (cotangent if dtype.kind == "c" else cotangent.real).astype(dtype)
        return tracked.pull(indices, (cotangent,), create_graph=False, keep_graph=True)

    return value, pull


def noting_class(cls, begin, add, **members):
    """A class of SciPy's solvers of differential equations that calls `begin(solver)`, and `add(solver)` at each step.

    `members`: further methods that it has in place of those of `cls`.
    """

    def started(self, *args, **kwargs):
        cls.__init__(self, *args, **kwargs)
        begin(self)

    def step(self):
        message = cls.step(self)
        if self.status != "failed":
            add(self)
        return message

    return type(cls.__name__, (cls,), {"__init__": started, "step": step, **members})


def starting_point(name, x0):
    """The raw floating-point array of a starting point; integers become float64.

    Raises
    ------
    TypeError
        If it is no array or number, or complex.
    """
    x0 = raw(x0)
    if isinstance(x0, (bool, int, float, numpy.generic, list, tuple)):
        x0 = numpy.asarray(x0)
    try:
        meta = meta_of(x0)
    except TypeError as error:
        raise TypeError(f"{name}: x0 must be an array or a float, got {type(x0).__name__}") from error
    if meta.is_complex:
        raise TypeError(f"{name}: x0 is complex ({meta.dtype}): solve for the real and imaginary part instead")
    if not meta.is_floating:
        x0 = meta.ops.xp.astype(x0, meta.ops.xp.float64)
    return x0


def solution_of(name, outcome, x0):
    """The raw solution, of the shape and dtype of `x0`, in what a solver returned.

    Solvers return an array, or an object as SciPy's: `x` or `root` with `success` or `converged`, and `message`.

    Raises
    ------
    ConvergenceError
        If the solver says so, or the solution is not finite.
    TypeError, ValueError
        If there is no array in it, or its shape is another.
    """
    x = outcome
    if not hasattr(outcome, "shape") or hasattr(outcome, "success"):
        for attribute in ("x", "root"):
            if hasattr(outcome, attribute):
                x = getattr(outcome, attribute)
                break
        said = getattr(outcome, "success", getattr(outcome, "converged", True))
        if not said:
            message = getattr(outcome, "message", getattr(outcome, "flag", "it gives no reason"))
            raise ConvergenceError(f"{name}: the solver did not converge: {message}")
    x = raw(x)
    meta = meta_of(x0)
    if isinstance(x, (int, float, numpy.generic, list)):
        x = numpy.asarray(x)
    try:
        x = meta.ops.asarray(x, meta.dtype, meta.device)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: the solver returned {type(outcome).__name__}, which holds no solution x") from error
    if meta_of(x).size != meta.size:
        raise ValueError(f"{name}: the solver returned an array of shape {tuple(x.shape)} for x0 of shape {meta.shape}")
    xp = meta.ops.xp
    x = xp.asarray(x, copy=True)  # the solver may keep what it returned, and write it in its next call
    if tuple(x.shape) != meta.shape:
        x = xp.reshape(x, meta.shape)
    if not bool(xp.all(xp.isfinite(x))):
        raise ConvergenceError(f"{name}: the solver returned values that are not finite: {x}")
    return x


def solve_dense(name, xp, matrix, b, what):
    """xp.linalg.solve(matrix, b), raw or recorded, for a matrix (n, n) and a vector (n,).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular, or so nearly that the result has no correct digit.
    """

    def singular():
        return numpy.linalg.LinAlgError(
            f"{name}: the {what} at the solution is singular, so the solution is no differentiable function of the "
            "arguments there (it may not be isolated)"
        )

    try:
        found = xp.linalg.solve(matrix, b)
    except Exception as error:  # each library has an error of its own
        if "ingular" not in str(error):
            raise
        raise singular() from error
    # |A| |x| / |b| is a lower bound of the condition number, and the usual one where the matrix is nearly singular.
    m, v, g = raw(matrix), raw(found), raw(b)
    if v.size:
        rxp = meta_of(m).ops.xp
        size = float(rxp.max(rxp.abs(m))) * float(rxp.max(rxp.abs(v)))
        given = float(rxp.max(rxp.abs(g)))
        if not size * float(rxp.finfo(m.dtype).eps) <= 0.1 * given and given > 0.0:
            raise singular()
    return found
