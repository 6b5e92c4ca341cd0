"""Operations with a derivative of the user's own: `Function` and `once_differentiable`.

May import: autograd.closure_tensors, autograd.function_snapshots, engine, core.barriers, core.constant_checks,
core.function, core.constructors, core.tensor. What a Function's ctx can do is in `function` (CustomNode).
"""

from __future__ import annotations

import functools
import inspect
import warnings

from arraygrad.autograd.closure_tensors import ClosureLook, read_beside
from arraygrad.autograd.function_snapshots import Reader, is_holder
from arraygrad.core.barriers import delayed_error
from arraygrad.core.constant_checks import constants_are_compared
from arraygrad.core.constructors import asarray
from arraygrad.core.function import CustomNode, run_function, set_function
from arraygrad.core.tensor import Tensor, metadata_of
from arraygrad.engine.modes import Mode
from arraygrad.engine.node import is_grad_enabled, set_grad_mode

__all__ = ["Function", "once_differentiable"]


class _GivesWay:
    """A property of nodes that a ctx attribute of the same name takes the place of (`ctx.device = x.device`)."""

    def __init__(self, name):
        self._name = name
        self._property = getattr(CustomNode, name)

    def __get__(self, node, owner=None):
        return self if node is None else self._property.__get__(node, owner)


class _Renamed:
    """An attribute of ctx in older code for PyTorch: the error names today's. One that is set takes its place."""

    def __init__(self, name, now):
        self._name, self._now = name, now

    def __get__(self, node, owner=None):
        owner = (owner or type(node)).__name__
        # Without name and obj: Python would add names that are spelled alike.
        raise AttributeError(f"{owner!r} object has no attribute {self._name!r}: use {self._now}", name=None, obj=None)


_NODE_NAMESPACE = {
    "saved_variables": _Renamed("saved_variables", "ctx.saved_tensors"),
    **{name: _GivesWay(name) for name in ("creating_thread", "device", "saved", "sequence_nr", "topological_nr")},
}


def _node_class(cls):
    """The class of the nodes of a Function class, `<Name>Backward`."""
    return type(
        f"{cls.__name__}Backward",
        (CustomNode,),
        {
            "__module__": cls.__module__,
            "__doc__": f"A node of {cls.__name__}, and the ctx of that call.",
            "_function": cls,
            **_NODE_NAMESPACE,
        },
    )


def _undefined(text):
    """The error of a method that a subclass has to define."""
    return NotImplementedError(text)


class Function:
    """An operation with a derivative of the user's own. Subclass it and call `apply` of the subclass.

    A subclass defines, as static methods, `forward` and `backward` in one of two styles:

    - `forward(ctx, *args)`, which also keeps what backward needs, or
    - `forward(*args)` and `setup_context(ctx, inputs, output)`, where `inputs` is the tuple of forward's arguments with
      defaults filled in.

    `forward` runs with recording off. Tensors among its positional arguments are followed by the graph; everything else
    is passed as it is. It returns a Tensor or a tuple; raw arrays, floats and complex numbers in it become Tensors,
    other values are passed on.

    `backward(ctx, *gradients)` gets one gradient (a Tensor of the output's shape and dtype) per output, None for those
    that are no Tensors, and returns one gradient per argument of forward: a Tensor, a raw array, or None. What it does
    is recorded where the pass itself is (`create_graph`); differentiating what it did not record raises RuntimeError.
    The gradients it is given must not be written in place.

    On ctx:

    - `save_for_backward(*tensors)` and `saved_tensors`, where a raw array comes back as a Tensor; other values are kept
      as attributes of ctx;
    - `needs_input_grad`: a tuple of bools, narrowed in backward to what the pass asks for;
    - `mark_dirty(*inputs)`: inputs that forward has written in place; each must be returned;
    - `mark_non_differentiable(*outputs)`;
    - `set_materialize_grads(False)`: None instead of zeros for outputs that no gradient arrived for.

    Names and semantics are those of `torch.autograd.Function`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> class Cube(ag.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x**2
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> Cube.apply(x).sum().backward()
    >>> x.grad
    Tensor([ 3., 12.])
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._node_class = _node_class(cls)
        cls._signature = None

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            f"version. Call {type(self).__name__}.apply(...).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        """Refused: a Function is used by its class's `apply`."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Define forward and backward as "
            f"static methods and call {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result: `forward(ctx, *args)`, or `forward(*args)` beside setup_context. Subclasses define it."""
        raise _undefined("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep on ctx what backward needs of forward's arguments and result. Defined by subclasses, or not at all."""
        raise _undefined("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradient of each argument of forward, from the gradient of each output. Defined by subclasses."""
        raise _undefined(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name of backward."""
        raise _undefined("vjp is not implemented.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record it.

        Parameters
        ----------
        *args, **kwargs
            forward's arguments, without ctx. Keyword arguments take their places among the positional ones.

        Returns
        -------
        Tensor, tuple, or whatever else forward returns
            Tensors in it require grad if recording is on and a Tensor argument requires grad.

        Raises
        ------
        TypeError
            If the arguments don't fit forward's, or a Tensor that requires grad stands where no gradient would follow
            it (in a list, as a keyword-only argument, or in a closure, a global or an attribute that forward reads).
        RuntimeError
            If something marked dirty is a leaf that requires grad, or was not returned.
        """
        setup = cls.setup_context is not _no_setup
        if setup or kwargs:
            args, kwargs = _bind(cls, args, kwargs, setup)
        if is_grad_enabled():
            _refuse_others(cls, args, kwargs, setup)
        return run_function(cls, cls._node_class, args, kwargs, setup)


Function._node_class = _node_class(Function)
_no_setup = Function.setup_context


def _watched(cls, backward, attributes):
    """(Reader, what it has seen) of a backward and of what is set on ctx; None where nothing of it can change.

    arraygrad's own Functions read nothing that a program changes, or compare it themselves.
    """
    if cls.__module__.partition(".")[0] == "arraygrad" or not constants_are_compared():
        return None
    reader = cls.__dict__.get("_reader")
    if reader is None or reader.functions[0] != backward:  # a bound method is made anew each time
        reader = cls._reader = Reader(cls.__name__, (backward,))
    holders = {f"ctx.{name}": value for name, value in attributes.items() if is_holder(value)} if attributes else None
    seen = reader.seen(holders)
    return None if seen is None else (reader, seen)


set_function(Function, _watched)


def _refuse_others(cls, args, kwargs, setup):
    """Raise TypeError where forward reads a Tensor that requires grad and is no argument of it."""
    if cls.__module__.partition(".")[0] == "arraygrad":
        return
    known = cls.__dict__.get("_beside")
    forward = cls.forward
    if known is not None and known[0] == (forward, len(args)) and known[1].holds():
        return
    look = ClosureLook([forward], len(args) + (not setup))
    for spelled, t in look.found:
        if not any(t is a for a in (*args, *kwargs.values())):
            raise read_beside(f"{cls.__name__}.forward", spelled)
    cls._beside = ((forward, len(args)), look) if look.steady else None  # what is kept must not keep a graph alive


def _bind(cls, args, kwargs, setup):
    """Arguments of forward with keywords in their places and defaults filled in: (positional, keyword-only)."""
    known = cls._signature
    if known is None or known[0] is not cls.forward:
        known = cls._signature = (cls.forward, inspect.signature(cls.forward))
    try:
        bound = known[1].bind(*args, **kwargs) if setup else known[1].bind(None, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.apply: {error}") from None
    bound.apply_defaults()
    return (bound.args if setup else bound.args[1:]), bound.kwargs


def once_differentiable(backward):
    """Decorate a Function's backward that does not record what it does (it works on raw arrays, say).

    The gradients themselves are as good as ever; differentiating through them raises RuntimeError. So the Function has
    no second derivative and none in forward mode (`jvp`, `jacfwd`, `linearize`). It stands below `@staticmethod`.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> class Sine(ag.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.array
    ...         return np.sin(x.array)
    ...
    ...     @staticmethod
    ...     @ag.autograd.once_differentiable
    ...     def backward(ctx, g):
    ...         return g.array * np.cos(ctx.x)
    >>> ag.grad(Sine.apply)(0.0)
    1.0
    """

    @functools.wraps(backward)
    def once(ctx, *grads):
        before = is_grad_enabled()
        with Mode(set_grad_mode, False):
            outputs = backward(ctx, *grads)
        # Recorded: what it computed depends on forward's arguments too, whether or not the gradients require grad.
        if not before:
            return outputs
        many = isinstance(outputs, tuple)
        tensors = [_fresh_leaf(value) for value in (outputs if many else (outputs,))]
        name = ctx.name().removesuffix("Backward")
        tensors = delayed_error(
            "trying to differentiate twice a function that was marked with @once_differentiable: "
            f"{name}.backward is not recorded, so {name} has no second derivative and no derivative in forward mode "
            "(jvp, jacfwd, linearize, hessian, hvp). Use grad, vjp or jacrev, or write backward with operations on "
            "Tensors and without the decorator",
            *tensors,
            of=ctx,
            given=grads,
        )
        return tensors if many else tensors[0]

    return once


def _fresh_leaf(value):
    """A leaf that requires grad over a gradient, so that the error node behind it is reached."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        if not hasattr(value, "dtype"):
            return value  # refused by whoever takes it
        value = asarray(value)
    value = value.detach()
    return value.requires_grad_() if metadata_of(value).is_floating else value
