"""Whether operations are recorded: `no_grad`, `enable_grad`, `set_grad_enabled`, `is_grad_enabled`; `zero_annihilates`.

May import: engine, tensor. The mode itself is one integer of the thread's state in the compiled core; what stands here
is the `with` and the decorator form. The mode belongs to a thread: a new thread starts with recording on, and a
backward run hands its own mode to the engine's threads.
"""

from __future__ import annotations

import functools
import inspect
import warnings

from arraygrad.engine.node import set_zero_annihilates
from arraygrad.tensor import is_grad_enabled, set_grad_mode

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled", "zero_annihilates"]


class _GradMode:
    """A grad mode for a block of code or for the calls of a function. Subclasses say which.

    One object may be entered several times over, nested too. A decorated function, generator, coroutine or
    asynchronous generator runs in the mode; whenever it is suspended its caller has the caller's own mode back.
    """

    __slots__ = ("_mode", "_previous")

    def __init__(self, mode):
        self._mode = mode
        self._previous = None  # linked pairs (mode before, pairs before), one for each time it was entered

    def __enter__(self):
        self._previous = (set_grad_mode(self._mode), self._previous)
        return None

    def __exit__(self, *exc):
        before, self._previous = self._previous
        set_grad_mode(before)

    def __call__(self, function):
        """Decorate `function`: every call of it runs in this mode."""
        return _decorate(function, self._mode)

    def __repr__(self):
        return f"{type(self).__name__}()"


class _FixedGradMode(_GradMode):
    """A mode that needs no argument, so that it decorates without parentheses too."""

    __slots__ = ()
    _fixed = False

    def __new__(cls, function=None):
        if function is None:
            return super().__new__(cls)
        return _decorate(function, cls._fixed)

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


class set_grad_enabled(_GradMode):
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

    __slots__ = ("_before",)

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled: mode must be True or False, got {type(mode).__name__}; "
                "to decorate a function write @set_grad_enabled(True) or @set_grad_enabled(False)"
            )
        super().__init__(mode)
        self._before = set_grad_mode(mode)

    def __enter__(self):
        # The first block restores what was before the call; the object may be entered again later.
        current = set_grad_mode(self._mode)
        before, self._before = self._before, None
        self._previous = (current if before is None else before, self._previous)
        return None

    def __call__(self, function):
        """Decorate `function`; the mode is set back, since the decorated calls set it themselves."""
        if self._before is not None:
            set_grad_mode(self._before)
            self._before = None
        return super().__call__(function)

    def __repr__(self):
        return f"set_grad_enabled({self._mode})"


def _decorate(function, mode):
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated: only the construction of instances runs in the grad mode, and the name "
            f"'{function.__name__}' no longer is the class. Decorate its methods (__init__ has the same effect).",
            FutureWarning,
            stacklevel=3,
        )
    elif not callable(function):
        raise TypeError(f"a grad mode decorates functions, got {type(function).__name__}")
    elif inspect.isasyncgenfunction(function):
        return _decorate_async_generator(function, mode)
    elif inspect.iscoroutinefunction(function):
        return _decorate_coroutine(function, mode)
    elif inspect.isgeneratorfunction(function):
        return _decorate_generator(function, mode)
    # A class keeps its name and docstring but not its __dict__: a function can't carry slots and properties.
    updated = () if inspect.isclass(function) else functools.WRAPPER_UPDATES

    @functools.wraps(function, updated=updated)
    def in_mode(*args, **kwargs):
        previous = set_grad_mode(mode)
        try:
            return function(*args, **kwargs)
        finally:
            set_grad_mode(previous)

    return in_mode


def _step(mode, resume, value):
    """resume(value) in the mode: one stretch of a generator or coroutine between two suspensions."""
    previous = set_grad_mode(mode)
    try:
        return resume(value)
    finally:
        set_grad_mode(previous)


def _drive(inner, mode):
    """Yield what `inner` (a generator or a coroutine) yields; it runs in the mode, the caller never does."""
    try:
        value = _step(mode, inner.send, None)
        while True:
            try:
                sent = yield value
            except GeneratorExit:
                previous = set_grad_mode(mode)
                try:
                    inner.close()
                finally:
                    set_grad_mode(previous)
                raise
            except BaseException as error:
                value = _step(mode, inner.throw, error)
            else:
                value = _step(mode, inner.send, sent)
    except StopIteration as stop:
        return stop.value


class _Driven:
    """An awaitable that runs another one in a mode."""

    __slots__ = ("inner", "mode")

    def __init__(self, inner, mode):
        self.inner = inner
        self.mode = mode

    def __await__(self):
        return _drive(self.inner, self.mode)


def _decorate_generator(function, mode):
    @functools.wraps(function)
    def in_mode(*args, **kwargs):
        return (yield from _drive(function(*args, **kwargs), mode))

    return in_mode


def _decorate_coroutine(function, mode):
    @functools.wraps(function)
    async def in_mode(*args, **kwargs):
        return await _Driven(function(*args, **kwargs), mode)

    return in_mode


def _decorate_async_generator(function, mode):
    @functools.wraps(function)
    async def in_mode(*args, **kwargs):
        inner = function(*args, **kwargs)
        try:
            value = await _Driven(inner.asend(None), mode)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    await _Driven(inner.aclose(), mode)
                    raise
                except BaseException as error:
                    value = await _Driven(inner.athrow(error), mode)
                else:
                    value = await _Driven(inner.asend(sent), mode)
        except StopAsyncIteration:
            return

    return in_mode


class zero_annihilates:
    """In this block a gradient that is exactly zero stays zero in every elementwise rule, whatever the derivative is.

    So masked code differentiates as it stands: in `where(x > 0, log(x), 0)` the untaken branch receives the gradient
    zero, and zero times the infinite derivative of log at 0 is zero here instead of nan. It holds for operations
    recorded in the block and for backward passes run in it, on this thread and on the device threads that serve it.

    >>> import arraygrad as ag, numpy as np
    >>> def f(x):
    ...     with np.errstate(divide="ignore"):
    ...         return np.sum(np.where(x > 0, np.log(x), 0.0))
    >>> with ag.zero_annihilates():
    ...     ag.grad(f)(np.array([0.0, 2.0]))
    array([0. , 0.5])
    """

    def __init__(self):
        self._previous = []

    def __enter__(self):
        self._previous.append(set_zero_annihilates(True))

    def __exit__(self, *exc):
        set_zero_annihilates(self._previous.pop())
