"""Hooks over several tensors, and hooks around operations.

May import: engine, core.tensor, core.apply.
"""

from __future__ import annotations

import threading

from arraygrad.core.apply import pop_op_hooks, push_op_hooks
from arraygrad.core.tensor import Tensor, gradient_edge
from arraygrad.engine.graph_task import current_graph_task_id, is_running, will_receive
from arraygrad.engine.later import called_later
from arraygrad.engine.modes import Mode

__all__ = ["op_hooks", "register_multi_grad_hook"]


class _Handles:
    """Takes several hooks away at once. Also a context manager."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        """Take the hooks away; does nothing the second time."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors, fn, mode="all"):
    """Call a function once per backward run, when the gradients of several tensors are there.

    Parameters
    ----------
    tensors : sequence of Tensor
        All require grad.
    fn : callable
        With "all": `fn(gradients)`, once those of all tensors that the run reaches are there; a list with None for
        the others. With "any": `fn(gradient)`, for the first that is there. What it returns is not used.
    mode : "all" or "any"

    Returns
    -------
    handle
        `remove()` takes the hooks away; it is a context manager too.

    Raises
    ------
    ValueError
        If `mode` is another one.
    RuntimeError
        If a tensor does not require grad.

    Notes
    -----
    Several runs may go on at once, in threads or nested; each counts for itself.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x, y = (ag.tensor([1.0], requires_grad=True) for _ in range(2))
    >>> handle = ag.autograd.graph.register_multi_grad_hook([x, y], lambda gradients: print(len(gradients)))
    >>> (x * y).sum().backward()
    2
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if not callable(fn):
        raise TypeError(f"register_multi_grad_hook: fn must be callable, got {type(fn).__name__}")
    tensors = tuple(tensors)
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"register_multi_grad_hook: expected Tensors, got {type(t).__name__}")
        if not t.requires_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient: make it, or what it is computed "
                "from, by arraygrad.tensor(data, requires_grad=True)"
            )
    fn = called_later(fn)
    waiting = _All(tensors, fn) if mode == "all" else _Any(fn)
    handles = []
    for i, t in enumerate(tensors):
        handles.append(t.register_hook(waiting.hook(i)))
    return _Handles(handles)


class _PerRun:
    """State of each run that is in progress; that of a run that failed goes when the next one begins."""

    def __init__(self):
        self._lock = threading.RLock()  # guards _runs; reentrant, for a finalizer may run backward meanwhile
        self._runs = {}

    def of_this_run(self, make):
        """The state of the run that calls; `make()` makes it. Called with the lock held."""
        run = current_graph_task_id()
        if run not in self._runs:
            for other in [other for other in self._runs if not is_running(other)]:
                del self._runs[other]
            self._runs[run] = make()
        return self._runs[run]


class _All(_PerRun):
    def __init__(self, tensors, fn):
        super().__init__()
        self._nodes = [gradient_edge(t)[0] if not t.is_leaf else None for t in tensors]
        self._leaves = [t if t.is_leaf else None for t in tensors]
        self._fn = fn

    def _expected(self):
        """[calls to come, gradients] of a run: one call per tensor that the run reaches."""
        nodes = [
            gradient_edge(leaf)[0] if node is None else node
            for node, leaf in zip(self._nodes, self._leaves, strict=True)
        ]
        return [sum(will_receive(node) for node in nodes), [None] * len(nodes)]

    def hook(self, i):
        def collect(gradient):
            with self._lock:
                state = self.of_this_run(self._expected)
                state[1][i] = gradient
                state[0] -= 1
                if state[0]:
                    return
                del self._runs[current_graph_task_id()]
            self._fn(state[1])

        return collect


class _Any(_PerRun):
    def __init__(self, fn):
        super().__init__()
        self._fn = fn

    def hook(self, i):
        def first(gradient):
            with self._lock:
                state = self.of_this_run(lambda: [False])
                if state[0]:
                    return
                state[0] = True
            self._fn(gradient)

        return first


class op_hooks(Mode):
    """op_hooks(before=None, after=None): in this block, call functions around every operation of this thread.

    Parameters
    ----------
    before : callable, optional
        `before(name, args)`, ahead of the operation: its name in the table, that of a function that is recorded as one
        ("numpy.median"), or the class name of a custom Function, and its parameters in order (Tensors, raw arrays,
        scalars; the tuple that the operation itself gets).
    after : callable, optional
        `after(name, args, result)`, when it has run and is recorded. Not called for an operation that raises.

    Notes
    -----
    What they return is not used; an exception leaves the operation. Operations within an operation (those of a custom
    Function's forward) and within the hooks themselves are not reported. With nested blocks the outer `before` comes
    first and the outer `after` last. While no block is active anywhere an operation pays for one test of a flag.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.graph.op_hooks(before=lambda name, args: print(name)):
    ...     y = ag.exp(x) * 2
    exp
    multiply
    """

    def __init__(self, before=None, after=None):
        for name, hook in (("before", before), ("after", after)):
            if hook is not None and not callable(hook):
                raise TypeError(f"op_hooks: {name} must be callable or None, got {type(hook).__name__}")
        super().__init__(push_op_hooks, (before, after), pop_op_hooks)
