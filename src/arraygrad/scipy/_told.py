"""What solvers tell a callback: the steps of their search, which have no derivative, as Tensors that refuse one.

May import: autograd, core.constructors, scipy._guards.

The gradient of a solution comes from the solved equation, not from the search. A callback that keeps what it is told
(`path.append(xk)`) would keep constants; so it gets Tensors whose history is a node that raises. Text, comparisons and
functions work on them, and their numbers may leave (Note [Numbers that leave], 6).
"""

import functools

import numpy

from arraygrad.autograd import Function
from arraygrad.autograd.let_go import let_go
from arraygrad.core.constructors import asarray
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._guards import NotDifferentiable, raw

__all__ = ["telling"]


@let_go
class SearchStep(Function):
    """What a callback is told: its value, which refuses to be differentiated."""

    @staticmethod
    def forward(ctx, name, value, *tensors):
        ctx.solver = name
        return asarray(value)

    @staticmethod
    def backward(ctx, g):
        raise NotDifferentiable(
            f"arraygrad.scipy.{ctx.solver}: the result depends on what a callback was told of the search, which has no "
            "derivative: the gradient is that of the solution alone. Compute from what the solver returns, or take "
            "arraygrad.stop_gradient(xk) in the callback where a constant is meant"
        )


def telling(name, callback, tensors):
    """`callback` of the solver `name`, told of a search for what depends on `tensors`; itself where these are none.

    It keeps its signature, by which SciPy decides what it passes. What it returns or raises goes to SciPy.
    """
    if not callable(callback) or not tensors:
        return callback

    @functools.wraps(callback)
    def call(*args, **kwargs):
        if is_grad_enabled():
            args = [_told(name, a, tensors) for a in args]
            kwargs = {key: _told(name, a, tensors) for key, a in kwargs.items()}
        return raw(callback(*args, **kwargs))

    return call


def _told(name, value, tensors):
    """A value with Tensors in the places of its floating-point numbers and arrays."""
    if isinstance(value, dict):  # scipy.optimize.OptimizeResult is one
        return type(value)({key: _told(name, one, tensors) for key, one in value.items()})
    if type(value) in (list, tuple):
        return type(value)(_told(name, one, tensors) for one in value)
    if type(value) in (float, complex) or getattr(getattr(value, "dtype", None), "kind", "") in ("f", "c"):
        return SearchStep.apply(name, numpy.array(value), *tensors)  # SciPy may go on writing its own
    return value
