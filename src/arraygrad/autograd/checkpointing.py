"""Memory for time: `checkpoint(f)` keeps the arguments of `f` instead of what its operations save.

May import: _hints, core.constant_checks, core.containers, engine, core.tensor, core.saved_tensors_hooks, core.apply,
autograd.graph_hooks, autograd.function_snapshots, autograd.saved_hooks.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import weakref

import numpy

from arraygrad._hints import unexpected
from arraygrad.autograd.function_snapshots import closed, held
from arraygrad.autograd.graph_hooks import op_hooks
from arraygrad.autograd.saved_hooks import saved_tensors_hooks
from arraygrad.core.constant_checks import Contents, constants_are_compared
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.saved_tensors_hooks import SavedInput
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id, queue_callback
from arraygrad.engine.later import called_later
from arraygrad.engine.modes import Mode
from arraygrad.engine.node import is_grad_enabled, set_grad_mode

__all__ = ["checkpoint"]

# Arguments of a checkpoint, ours and PyTorch's, that are given to its function by mistake.
_OF_CHECKPOINT = ("early_stop", "debug", "use_reentrant", "preserve_rng_state", "determinism_check")


# Note [Checkpoints]
# ~~~~~~~~~~~~~~~~~~
# f runs as usual and is recorded as usual, but a pack hook puts a numbered place holder where a node would have saved a
# value. The first place holder that is unpacked in a backward run calls f again, on the arguments as they were, with a
# pack hook that takes down the values to be saved: the n-th belongs to the n-th place holder. So the graph is the
# original one: closures, several results, hooks and create_graph need no care, and there is no backward in backward.
# (1) A value is dropped when its node has it; if it is asked for again (retain_graph) f is called again.
# (2) The second call ends, by an exception of its own, as soon as the last value is there. With early_stop=False it
#     runs to its end, and one that saves more values than the first is found out, too.
# (3) The arguments of a checkpoint inside of f are saved by the outer pack hook (SavedInput), so they are recomputed
#     too and nothing of f's inside stays in memory.
# (4) f may itself run backward passes. Its nodes then ask for values before f is finished: the second call runs up to
#     the last value that was asked for so far. Values of the second call are unpacked as they are.
# (5) Arrays that f finds elsewhere than in Tensors among its arguments must contain the same when it is called again:
#     raw arguments, and what its closure, its defaults and the globals that it names hold. They are told by their
#     content, as constants are (Note [Constants that change]). What f itself writes (running means, buffers) is not.
# (6) Variables of f's closure that were bound anew since have their old values in the second call (Note [Function
#     snapshots]).
# Guarded by tests/autograd/test_checkpoint.py.


class _Enough(BaseException):
    """Ends the second call (2). No Exception, so that handlers in the user's function let it pass."""


class _Place:
    """Stands in a node for a value that will be computed again."""

    __slots__ = ("__weakref__", "checkpoint", "number")

    def __init__(self, checkpoint, number):
        self.checkpoint = checkpoint
        self.number = number


# Elements of a saved value that are compared when it is computed again. Only large differences count: a sum may come
# out with other last digits.
SAMPLES = 8
ALIKE = 1e-3


def _sample(t):
    """A few elements of a Tensor's array, spread over it; None where they would have to be fetched from a device."""
    array = raw_array(t)
    if not isinstance(array, numpy.ndarray) or array.dtype.kind not in "biufc" or not array.size:
        return None
    return array.flat[:: max(1, array.size // SAMPLES)]


def _alike(found, expected):
    if found is None or expected is None:
        return True
    if found.dtype.kind in "biu":
        return bool((found == expected).all())
    with numpy.errstate(all="ignore"):
        largest = numpy.max(numpy.abs(expected), initial=0.0, where=numpy.isfinite(expected))
        same = (numpy.abs(found - expected) <= ALIKE * largest) | (found == expected)
    return bool((same | (numpy.isnan(found) & numpy.isnan(expected))).all())


class _Checkpoint:
    """One call of a checkpointed function."""

    def __init__(self, function, args, kwargs, early_stop, debug):
        self.function = function
        self.again = called_later(closed(function))
        self.early_stop = early_stop
        self.operations = [] if debug else None  # of the first call, in words
        self.finished = False  # whether the first call has returned, so that `places` is complete
        self.places = []  # weak references to the place holders, in order
        self.metas = []  # (shape, dtype) of the value of each
        self.samples = []  # some of its elements
        self.runs = {}  # backward run -> {number: value}
        leaves, self.structure = flatten((args, kwargs))
        self.inputs = [_input(leaf) for leaf in leaves]
        arrays = {f"argument leaf {i}": leaf for i, leaf in enumerate(leaves) if not isinstance(leaf, Tensor)}
        self.contents = Contents(arrays | held(function), tensors=True)  # (5)
        self.random_state = numpy.random.get_state()

    def pack(self, t):
        """The first call: a place holder for a value."""
        place = _Place(self, len(self.places))
        self.places.append(weakref.ref(place))
        self.metas.append((t.shape, t.dtype))
        self.samples.append(_sample(t) if constants_are_compared() else None)
        return place

    def noting(self, operations):
        """A block in which operations are noted in a list, where `debug` asks for it."""
        if self.operations is None:
            return contextlib.nullcontext()
        return op_hooks(before=lambda name, args: operations.append(f"{name}({', '.join(map(_in_short, args))})"))

    def differs(self, how, operations):
        """The error about a second call that is not like the first."""
        text = f"checkpoint: '{_name(self.function)}' is not the same when it is called again: {how}"
        if self.operations is None:
            return RuntimeError(f"{text} (debug=True lists the operations of both calls)")
        rows = [
            "operations of the first call:",
            *self.operations,
            "operations of the second call, so far:",
            *operations,
        ]
        return RuntimeError("\n".join([text, *rows]))

    @staticmethod
    def unpack(place):
        """Backward: the value, out of a second call."""
        self = place.checkpoint
        run = current_graph_task_id()
        values = self.runs.get(run)
        if values is None or place.number not in values:
            if run != -1 and run not in self.runs:
                queue_callback(lambda: self.runs.pop(run, None))
            values = self.compute()
            if run != -1:
                self.runs[run] = values
        return values.pop(place.number).again()

    def compute(self):
        """Call the function again; returns {number: value} for all place holders that are alive."""
        values = {}
        operations = []
        count = 0
        total = len(self.places)

        def note(t):
            nonlocal count
            number = count
            count += 1
            if number < total:
                if (t.shape, t.dtype) != self.metas[number]:
                    raise self.differs(
                        f"value {number} that it saves had shape {self.metas[number][0]} and dtype "
                        f"{self.metas[number][1]}, and has shape {t.shape} and dtype {t.dtype} now",
                        operations,
                    )
                if not _alike(_sample(t), self.samples[number]):
                    raise self.differs(
                        f"value {number} that it saves contains other numbers now. Something that it reads has changed "
                        "since: a name in its closure or its module, an entry or an attribute. Pass what changes as an "
                        "argument. Of random numbers only those of numpy.random's functions and of Generators among "
                        "the arguments are drawn again as they were: draw others outside, and pass the numbers",
                        operations,
                    )
                if self.places[number]() is not None:
                    values[number] = SavedInput(t, hooks=False)  # the function may write its memory afterwards
            if self.early_stop and count == total:
                raise _Enough
            return t

        self.contents.check(f"the checkpoint of '{_name(self.function)}'")
        args, kwargs = unflatten(self.structure, [_again(kept) for kept in self.inputs])
        state = numpy.random.get_state()
        try:
            numpy.random.set_state(self.random_state)
            with Mode(set_grad_mode, True), saved_tensors_hooks(note, _same), self.noting(operations):
                self.again(*args, **kwargs)
        except _Enough:
            pass
        finally:
            numpy.random.set_state(state)
        if count < total or (count > total and self.finished):
            raise self.differs(f"it saved {total} values the first time and {count} now", operations)
        return values


def _same(t):
    return t


def _in_short(argument):
    """An argument of an operation in words: dtype and shape of an array, else its repr."""
    if isinstance(argument, (list, tuple)):
        return f"[{', '.join(map(_in_short, argument))}]"
    if hasattr(argument, "dtype") and hasattr(argument, "shape"):
        return f"{argument.dtype}{list(argument.shape)}"
    return repr(argument)


def _name(function):
    return getattr(function, "__name__", None) or type(function).__name__


def _input(leaf):
    """What is kept of an argument: Tensors through the hooks around the checkpoint (3), generators as they are now."""
    if isinstance(leaf, Tensor):
        return SavedInput(leaf)
    if isinstance(leaf, numpy.random.Generator):
        return copy.deepcopy(leaf)
    return leaf


def _again(kept):
    """The argument for another call."""
    if isinstance(kept, SavedInput):
        return kept.again()
    if isinstance(kept, numpy.random.Generator):
        return copy.deepcopy(kept)
    return kept


def checkpoint(f, *arguments, early_stop=True, debug=False, **unknown):
    """A function that computes what `f` does and keeps less memory for backward.

    Of the operations in `f` nothing is kept but the graph itself; in backward `f` is called again, on the same
    arguments, to get what the rules need. A chain of n operations cut into pieces of about sqrt(n) then keeps some
    2 sqrt(n) arrays instead of n, for one more evaluation of the function.

    Parameters
    ----------
    f : callable
        Takes and returns anything: arrays, Tensors, nested containers. It must do the same when it is called again.
        NumPy's global random state, and `numpy.random.Generator` arguments, are set back for the second call.
    early_stop : bool
        End the second call as soon as everything that is needed is there; False lets it run to its end, where more
        values than the first time are an error, too.
    debug : bool
        Note the operations of both calls, with dtypes and shapes, and list them where the second call differs.

    Returns
    -------
    callable
        Called as `f`. Checkpoints nest. Where nothing is recorded it is `f` itself.

    Raises
    ------
    RuntimeError
        From backward, if `f` saves other values in the second call, or if an array that it uses was written since.

    Notes
    -----
    Raw arrays among the arguments, and arrays and Tensors that `f` finds in its closure, its defaults and the globals
    that it names, are not copied: backward compares what they contain, as far as `set_constant_check` says, and raises
    if they were written after the call. Tensors among the arguments may be written. What `f` itself writes in its call
    is not compared.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> layer = ag.checkpoint(lambda x: np.tanh(np.exp(x)))
    >>> gradient = ag.grad(lambda x: np.sum(layer(layer(x))))(np.array([0.0, 0.5]))
    """
    if arguments:
        raise TypeError(
            f"checkpoint() takes 1 positional argument but {1 + len(arguments)} were given: it makes a function, "
            "arraygrad.checkpoint(f)(t), whose arguments those are"
        )
    if unknown:
        raise TypeError(unexpected("checkpoint", next(iter(unknown)), ("early_stop", "debug")))
    if not callable(f):
        raise TypeError(
            f"checkpoint: expected a function, got {type(f).__name__}: call what it returns, checkpoint(f)(x)"
        )

    @functools.wraps(f, updated=())
    def checkpointed(*args, **kwargs):
        if not is_grad_enabled():
            return f(*args, **kwargs)
        call = _Checkpoint(f, args, kwargs, early_stop, debug)
        with saved_tensors_hooks(call.pack, _Checkpoint.unpack), call.noting(call.operations):
            try:
                result = f(*args, **kwargs)
            except TypeError as error:
                keyword = next((name for name in _OF_CHECKPOINT if name in kwargs and name in str(error)), None)
                if keyword is None:
                    raise
                hint = unexpected("checkpoint", keyword, ("early_stop", "debug")).partition(": ")[2]
                raise TypeError(f"{error}: {hint or f'give it to checkpoint(f, {keyword}=...)'}") from error
        call.finished = True
        call.contents.forget(call.contents.written())  # (5)
        return result

    return checkpointed


checkpoint.__signature__ = inspect.Signature(
    [p for p in inspect.signature(checkpoint).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
)
