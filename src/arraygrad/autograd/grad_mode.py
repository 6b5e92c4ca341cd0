"""Modes of a thread: grad mode, `inference_mode`, `zero_annihilates`, and whether backward uses other threads.

May import: engine, core.tensor. Each mode is one integer of the thread's state in the compiled core; what stands here
is the `with` and the decorator form. The mode belongs to a thread: a new thread starts with recording on, and a
backward run hands its own mode to the engine's threads.
"""

import functools
import inspect
import warnings

from arraygrad.core.tensor import is_grad_enabled, is_inference_mode_enabled, set_grad_mode, switch_inference
from arraygrad.engine.engine import set_multithreading
from arraygrad.engine.modes import Mode
from arraygrad.engine.node import set_zero_annihilates

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "zero_annihilates",
]


class _Called(type):
    """The class of modes: `with no_grad:`, without parentheses, says what is missing."""

    def __enter__(cls):
        takes = "" if issubclass(cls, _FixedGradMode) else "..."
        call = f"arraygrad.{cls.__name__}({takes})"
        raise TypeError(f"{cls.__name__} is a class, and a block needs a mode of it: write `with {call}:`")

    def __exit__(cls, *error):
        return None


class DecoratingMode(Mode, metaclass=_Called):
    """A mode for a block of code or for the calls of a function.

    A decorated function, generator, coroutine or asynchronous generator runs in the mode; whenever it is suspended its
    caller has the caller's own mode back.
    """

    __slots__ = ()

    def __call__(self, function):
        """Decorate `function`: every call of it runs in this mode."""
        return _decorate(function, functools.partial(Mode, self.switch, self.value, self.restore))


class _GradMode(DecoratingMode):
    """A grad mode. Subclasses say which."""

    __slots__ = ()
    _switch = staticmethod(set_grad_mode)  # switch(mode) sets it and returns what, given to it, restores the old one

    def __init__(self, mode):
        super().__init__(self._switch, mode)

    def __repr__(self):
        return f"{type(self).__name__}()"


class _FixedGradMode(_GradMode):
    """A mode that needs no argument, so that it decorates without parentheses too."""

    __slots__ = ()
    _fixed = False

    def __new__(cls, function=None):
        if function is None:
            return super().__new__(cls)
        return _decorate(function, functools.partial(Mode, cls._switch, cls._fixed))

    def __init__(self, function=None):
        super().__init__(self._fixed)


class no_grad(_FixedGradMode):
    """Operations are not recorded: results don't require grad.

    Use it as `with ag.no_grad():` or as a decorator, `@ag.no_grad` or `@ag.no_grad()`, of functions, generators,
    coroutines and asynchronous generators. In-place writes still count as changes of a tensor's version.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.no_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    False
    """

    __slots__ = ()
    _fixed = False


class enable_grad(_FixedGradMode):
    """Operations are recorded, also within `no_grad`. Context manager and decorator, see `no_grad`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.no_grad(), ag.enable_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    True
    """

    __slots__ = ()
    _fixed = True


class _ImmediateMode(DecoratingMode):
    """A mode that acts when the object is made; the first `with` block restores what was before."""

    __slots__ = ()

    def __init__(self, mode):
        name = type(self).__name__
        if not isinstance(mode, bool):
            raise TypeError(
                f"{name}: mode must be True or False, got {type(mode).__name__}; "
                f"to decorate a function write @{name}(True) or @{name}(False)"
            )
        super().__init__(self._switch, mode, now=True)

    def __call__(self, function):
        """Decorate `function`; the mode is set back, since the decorated calls set it themselves."""
        self.undo()
        return super().__call__(function)

    def __repr__(self):
        return f"{type(self).__name__}({self.value})"


class set_grad_enabled(_ImmediateMode):
    """set_grad_enabled(mode): record operations, or don't, from now on.

    It acts at once, as a plain call. In a `with` statement the mode before the call comes back at the end of the block;
    as a decorator it acts on the calls of the function only.

    Parameters
    ----------
    mode : bool
        Whether operations are recorded.

    Raises
    ------
    TypeError
        If `mode` is not a bool.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.set_grad_enabled(False):
    ...     ag.is_grad_enabled()
    False
    >>> ag.is_grad_enabled()
    True
    """

    __slots__ = ()
    _switch = staticmethod(set_grad_mode)


class set_multithreading_enabled(_ImmediateMode):
    """set_multithreading_enabled(mode): whether this thread's backward calls may use other threads, from now on.

    Without, nodes of every device run on the calling thread, one after another. It acts at once, as a plain call; in a
    `with` statement the mode before the call comes back at the end of the block; it decorates functions too.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        If `mode` is not a bool.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.autograd.set_multithreading_enabled(False):
    ...     ag.autograd.is_multithreading_enabled()
    False
    """

    __slots__ = ()
    _switch = staticmethod(set_multithreading)


class inference_mode(_GradMode):
    """inference_mode(mode=True): nothing is recorded, and what is computed can never become part of a graph.

    As `no_grad`, for code whose results are never differentiated: what is made in it is marked (`t.is_inference()`) and
    refused where a graph would have to save it, so that a gradient is not lost unnoticed. Context manager and
    decorator, `@ag.inference_mode` or `@ag.inference_mode()`, of functions, generators and coroutines;
    `inference_mode(False)` leaves the mode for a block.

    - Inside, `enable_grad` records nothing. A tensor that is asked to require grad is an ordinary one, not marked.
    - Outside, an inference tensor takes part in operations as a constant. Saving it for backward, writing into it
      in place and `requires_grad_()` raise RuntimeError; `t.copy()` makes an ordinary tensor of it.
    - A view is marked if what it is a view of is. A view of an ordinary tensor is an ordinary one: used outside, it has
      the gradient of any other view. It can't be written outside, as in PyTorch.
    - A backward called inside gives the leaves ordinary gradients.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        If `mode` is neither a bool nor a function to decorate.

    Notes
    -----
    Semantics of `torch.inference_mode`, except that there a leaf made inside with `requires_grad=True` silently gets no
    gradient, no gradient passes from a view made inside to its base, and a backward called inside leaves gradients that
    the next backward can't be added to.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.inference_mode():
    ...     y = ag.tensor([1.0, 2.0]) * 2.0
    >>> y.is_inference()
    True
    """

    __slots__ = ()
    _switch = staticmethod(switch_inference)

    def __new__(cls, mode=True):
        if callable(mode):
            return _decorate(mode, functools.partial(Mode, switch_inference, 1))
        return super().__new__(cls)

    def __init__(self, mode=True):
        if not isinstance(mode, bool):
            raise TypeError(f"inference_mode: mode must be True or False, got {type(mode).__name__}")
        super().__init__(int(mode))

    def __repr__(self):
        return f"inference_mode({bool(self.value)})"


def _decorate(function, block):
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated: only the construction of instances runs in the grad mode, and the name "
            f"'{function.__name__}' no longer is the class. Decorate its methods (__init__ has the same effect).",
            FutureWarning,
            stacklevel=3,
        )
    elif not callable(function):
        raise TypeError(
            f"a grad mode decorates functions, got {type(function).__name__}: write `with arraygrad.no_grad():`, or "
            "`with arraygrad.set_grad_enabled(mode):` for a mode that is computed"
        )
    elif inspect.isasyncgenfunction(function):
        return _decorate_async_generator(function, block)
    elif inspect.iscoroutinefunction(function):
        return _decorate_coroutine(function, block)
    elif inspect.isgeneratorfunction(function):
        return _decorate_generator(function, block)
    # A class keeps its name and docstring but not its __dict__: a function can't carry slots and properties.
    updated = () if inspect.isclass(function) else functools.WRAPPER_UPDATES

    @functools.wraps(function, updated=updated)
    def in_mode(*args, **kwargs):
        with block():
            return function(*args, **kwargs)

    return in_mode


def _step(block, resume, value):
    """resume(value) in the mode: one stretch of a generator or coroutine between two suspensions."""
    with block():
        return resume(value)


def _drive(inner, block):
    """Yield what `inner` (a generator or a coroutine) yields; it runs in the mode, the caller never does."""
    try:
        value = _step(block, inner.send, None)
        while True:
            try:
                sent = yield value
            except GeneratorExit:
                with block():
                    inner.close()
                raise
            except BaseException as error:
                value = _step(block, inner.throw, error)
            else:
                value = _step(block, inner.send, sent)
    except StopIteration as stop:
        return stop.value


class _Driven:
    """An awaitable that runs another one in a mode."""

    __slots__ = ("block", "inner")

    def __init__(self, inner, block):
        self.inner = inner
        self.block = block

    def __await__(self):
        return _drive(self.inner, self.block)


def _decorate_generator(function, block):
    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        return (yield from _drive(function(*args, **kwargs), block))

    return in_mode


def _decorate_coroutine(function, block):
    @functools.wraps(function)
    async def in_mode(*args, **kwargs):
        return await _Driven(function(*args, **kwargs), block)

    return in_mode


def _decorate_async_generator(function, block):
    @functools.wraps(function)
    async def in_mode(*args, **kwargs):
        inner = function(*args, **kwargs)
        try:
            value = await _Driven(inner.asend(None), block)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    await _Driven(inner.aclose(), block)
                    raise
                except BaseException as error:
                    value = await _Driven(inner.athrow(error), block)
                else:
                    value = await _Driven(inner.asend(sent), block)
        except StopAsyncIteration:
            return

    return in_mode


class zero_annihilates(Mode):
    """In this block a gradient that is exactly zero stays zero in every elementwise rule, whatever the derivative is.

    So masked code differentiates as it stands: in `where(x > 0, log(x), 0)` the untaken branch receives the gradient
    zero, and zero times the infinite derivative of log at 0 is zero here instead of nan. It holds for operations
    recorded in the block and for backward passes run in it, on this thread and on the device threads that serve it.

    >>> import arraygrad as ag, numpy as np
    >>> def f(x):
    ...     with np.errstate(divide="ignore"):
    ...         return np.sum(np.where(x > 0, np.log(x), 0.0))
    >>> with ag.zero_annihilates(), np.errstate(invalid="ignore"):
    ...     ag.grad(f)(np.array([0.0, 2.0]))
    array([0. , 0.5])
    """

    def __init__(self):
        super().__init__(set_zero_annihilates, True)
