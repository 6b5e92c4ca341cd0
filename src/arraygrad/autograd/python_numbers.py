"""Values of recorded Tensors that become Python numbers: refused, warned of, or kept in the graph.

May import: core.adopted, core.containers, core.convert, core.inplace, core.operands, core.tensor,
autograd.equal_by_chance, autograd.grad_mode, autograd.graph, autograd.keys, autograd.let_go, autograd.number_texts,
autograd.of_arrays, autograd.of_libraries, autograd.of_python, autograd.of_scipy, autograd.source_locations, the
standard library. `arraygrad` exports the names.

Note [Numbers that leave]
~~~~~~~~~~~~~~~~~~~~~~~~~
A Python number has no gradient. Code that computes with `float(t)` goes on without the Tensor, and the gradient of what
it computes is zero, or that of a part of it.
(1) `float`, `complex`, the functions of math and cmath, and C code that asks for a number all call `__float__` or
    `__complex__`, where adoption has not put other functions in their place. Inside a function transform that raises
    TypeError if the history of the Tensor reaches an argument that is being differentiated. Otherwise it warns, once
    per place, as PyTorch does.
(2) `item()` and `tolist()` are how code takes one number out of an array and goes on computing. Inside a transform they
    give 0-d Tensors, outside of one Python numbers, as in PyTorch.
(3) `int`, `bool`, `__index__`, comparisons, `round(t)`, `math.floor`, `math.ceil` and `math.trunc` have no slope: they
    give plain values everywhere. So do text and printing, and functions of NumPy's that give truth values or whole
    numbers, of lists of Tensors: `numpy.isnan([t, u])`.
    Digits that are kept (`round(t, 3)`, `numpy.round(x, 3)`) are recorded with slope zero; inside a transform a warning
    tells, as such a rounding is most often meant for the eye.
(4) Where grad mode is off nothing is recorded, so nothing is lost.
(5) A function may catch the TypeError, or let values out on purpose (`t.numpy()`). The trace notes both. If its result
    then depends on no argument, the transform raises instead of returning zeros (`TrackedCall.check_result`); if it
    does, the transform warns of a TypeError that was caught, as a part of the gradient may be lost.
(6) What a solver tells its callback refuses its gradient anyway. Its numbers and arrays may leave, with a warning
    where policy (1) does not turn that off: `autograd.let_go`.
`set_number_policy` and `number_policy` change (1). Guarded by tests/transforms/test_numbers.py and by the table of
docs/reliability.md, tests/reliability/test_idioms.py.
"""

from __future__ import annotations

import ast
import contextvars
import dis
import sys

from arraygrad.autograd.equal_by_chance import are_one_value
from arraygrad.autograd.grad_mode import DecoratingMode
from arraygrad.autograd.graph import walk
from arraygrad.autograd.keys import are_one_key, warn_of_keys
from arraygrad.autograd.let_go import is_let_go
from arraygrad.autograd.number_texts import formats, shown, text_filled
from arraygrad.autograd.of_arrays import is_index, is_of_operators, of_an_array
from arraygrad.autograd.of_libraries import MASKED, of_code, of_plain_calls, of_target, way_of
from arraygrad.autograd.of_python import drawn, has_no_slope, holder_of_numbers, metric, recorded_name
from arraygrad.autograd.of_scipy import matrix_written, way_out_of_scipy
from arraygrad.autograd.source_locations import (
    SourceLocation,
    object_of,
    only_shown,
    own_frame,
    parsed,
    source_of,
    warn_at,
    where_text,
)
from arraygrad.core.adopted import note_text
from arraygrad.core.convert import RUNNING, running_here
from arraygrad.core.inplace import as_scalar, is_scalar
from arraygrad.core.operands import WIDER
from arraygrad.core.tensor import Tensor, gradient_edge

__all__ = ["number_policy", "set_number_policy", "stop_gradient"]

_POLICIES = ("default", "raise", "warn", "off")


_policy = "default"  # the whole process; a str is replaced in one step
_here: contextvars.ContextVar[str | None] = contextvars.ContextVar("arraygrad.number_policy", default=None)


# -- what users call ---------------------------------------------------------------------------------------------------


def set_number_policy(policy):
    """What is done when a Tensor that requires grad becomes a Python number by `float`, `complex` or functions of math.

    In functions that transforms adopt these stay recorded; the policy is for those that adoption does not reach, for
    `adopt=False` and for code that calls `backward()`.

    Parameters
    ----------
    policy : {"default", "raise", "warn", "off"}
        "default": TypeError inside a function transform (`grad`, `vjp`, `jacobian`, ...) if the Tensor depends on an
        argument that is being differentiated, a UserWarning once per place otherwise. "raise", "warn" and "off": the
        same everywhere: TypeError, a warning, nothing. A function whose result is a plain number because values left
        is refused under every policy.

    Returns
    -------
    str
        The policy before. It is that of the whole process; `number_policy` sets it for a block of code.

    Raises
    ------
    ValueError
        If `policy` is none of these.

    Examples
    --------
    >>> import arraygrad as ag
    >>> ag.set_number_policy("raise")
    'default'
    >>> ag.set_number_policy("default")
    'raise'
    """
    global _policy
    _checked("set_number_policy", policy)
    before, _policy = _policy, policy
    return before


class number_policy(DecoratingMode):
    """Have `policy` (see `set_number_policy`) hold in a block of code, or as a decorator in a function.

    It holds in this thread or task, and takes precedence over that of the process.

    Raises
    ------
    ValueError
        If `policy` is none of "default", "raise", "warn" and "off".

    Examples
    --------
    >>> import arraygrad as ag
    >>> t = ag.tensor(2.0, requires_grad=True)
    >>> with ag.number_policy("off"):
    ...     float(t * 3.0)
    6.0
    """

    __slots__ = ()

    def __init__(self, policy):
        _checked("number_policy", policy)
        super().__init__(_here.set, policy, _here.reset)


def stop_gradient(x):
    """`x` as a constant: Tensors in it are detached, over the same memory; anything else is as it is.

    Parameters
    ----------
    x : Tensor, or any container of Tensors and other objects
        Dicts, lists, tuples, named tuples and dataclasses are gone through.

    Returns
    -------
    object
        Of the same structure. A Tensor for a Tensor: it takes part in operations, and no gradient flows through it.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.grad(lambda x: x * ag.stop_gradient(x))(3.0)
    3.0
    """
    if isinstance(x, Tensor):
        return x.detach()
    from arraygrad.core.containers import flatten, unflatten

    leaves, structure = flatten(x)
    if not any(isinstance(leaf, Tensor) for leaf in leaves):
        return x
    return unflatten(structure, [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves])


# -- what convert asks ------------------------------------------------------------------------------------------------


def becomes_number(t, how):
    """`t`, which requires grad, is to become a Python number by `how` ("float", "complex"): refuse, warn, or let it go.

    Raises
    ------
    TypeError
        As the policy says.
    """
    if adopting():
        text = text_filled(sys._getframe(1))
        if text is not None:  # the value is shown; who reads it again is told
            for number in shown(text, t.array.item()):
                note_text(number)
            return
    if is_let_go(t):
        _warn_of_let_go(t, how, sys._getframe(1))
        return
    traces = followed_by(t)
    policy = _here.get() or _policy
    if policy == "default":
        policy = "raise" if traces else "warn"
    if policy == "off" and not traces:
        return
    at = SourceLocation(sys._getframe(1))
    if has_no_slope(at.called):
        return
    for trace in traces:
        _note_left(trace, f"{how}() of a Tensor, at {at}")
    if policy == "off":
        return
    text = f"{at}: {_told(at, how, bool(traces), t)}"
    if policy == "warn":
        warn_at(at, f"{text} arraygrad.set_number_policy('off') turns this warning off.")
        return
    raise _known(traces, TypeError(text))


def number_warnings_are_off():
    """Whether the policy here says nothing of numbers that leave."""
    return (_here.get() or _policy) == "off"


def _warn_of_let_go(t, how, frame):
    """Values leave that refuse their gradient (6): the traces note it, and a warning says so where it is no text."""
    at = SourceLocation(frame)
    for trace in followed_by(t):
        _note_left(trace, f"{how}() of a Tensor, at {at}")
    if number_warnings_are_off() or formats(frame):
        return
    warn_at(
        at,
        f"{at}: what a solver tells its callback becomes a plain number or array, a constant of the gradient. Compute "
        "what a loss depends on from the solver's result; arraygrad.stop_gradient(t) where the bare value is meant, "
        "without this warning.",
    )


def gradient_is_constant(outputs, grads):
    """Warn of autograd.grad or backward without create_graph whose result depends on what a transform follows.

    The result is a constant of the transform's gradient. Calls by arraygrad's own code know what they do.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == "arraygrad.autograd.functions":
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] == "arraygrad":
        return
    several = [one if isinstance(one, (list, tuple)) else (one,) for one in (outputs, grads)]
    if not any(is_followed(t) for ones in several for t in ones):
        return
    at = SourceLocation(frame)
    warn_at(
        at,
        f"{at}: backward() or autograd.grad() without create_graph, of what depends on the argument of a transform "
        "that is running: its result is a constant, and the transform's gradient lacks what depends on it. Write "
        "arraygrad.grad(f)(x) in its place, whose result is recorded, and steps that are recorded, t = t - step * g; "
        "or create_graph=True. Where a constant is meant, call it under arraygrad.no_grad()",
    )


def leaves(t, how):
    """`t`, which requires grad, gives bare values by an explicit call such as `numpy()`: the traces note it."""
    node = gradient_edge(t)[0]
    mark = None
    for trace in list(RUNNING.values()):
        if _follows(trace, node):
            mark = mark or _Mark(how, sys._getframe(1))
            _note_left(trace, mark)


def _note_left(trace, text):
    trace.left = text


def is_followed(x):
    """Whether `x` is a Tensor that a running transform follows."""
    if not RUNNING or not isinstance(x, Tensor) or not x.requires_grad:
        return False
    node = gradient_edge(x)[0]
    return any(_follows(trace, node) for trace in list(RUNNING.values()))


def _follows(trace, node):
    """Whether the history of a node reaches the arguments of a running trace.

    What was found of nodes is noted by their sequence numbers, so that a loop that asks in every pass looks at each
    node once, and not at all before it.
    """
    try:
        reaching, others = trace.known
    except AttributeError:
        reaching, others = trace.known = ({}, {})
    ends = {edge.node for edge in trace.edges}
    above = {node: None}
    stack = [node]
    while stack:
        node = stack.pop()
        if node in ends or node.sequence_nr in reaching:
            while node is not None:
                if node not in ends:  # accumulators have one number for all
                    reaching[node.sequence_nr] = None
                node = above[node]
            return True
        behind = () if node.sequence_nr in others else node.next_functions
        for child, _ in behind:
            if child is not None and child not in above:
                above[child] = node
                stack.append(child)
    others.update({node.sequence_nr: None for node in above if node.next_functions})
    return False


class _Mark:
    """Where a value left the graph; its text, which reads source files, is made when it is asked for."""

    def __init__(self, how, frame):
        frame = own_frame(frame)
        self._parts = (how, frame.f_code, frame.f_lasti, frame.f_lineno, frame.f_globals)

    def __str__(self):
        how, code, at, line, names = self._parts
        where = where_text(code.co_filename, line, code.co_qualname, source_of(code, at, names))
        return f"{how}() of a Tensor, at {where}" if how else where


def mark():
    """Where the memory of an array is given to code that takes plain arrays; `str` tells it."""
    return _Mark("", sys._getframe(1))


def exported_error(where):
    """The error for a value that is to be written into memory that such code has got at `where`, and still has."""
    text = (
        f"{SourceLocation(sys._getframe(1))}: a value that requires grad is written into an array whose memory other "
        f"code has, which would read the value without its gradient. It was given away at {where}. Write into a copy, "
        "a = a.copy(), or give the copy away, where the other code need not see what is written; else compute what it "
        "computes of the Tensor; x.detach() where only the bare value is meant."
    )
    return _known(list(RUNNING.values()), TypeError(text))


def held_array_written():
    """Warn before a value that requires grad is written into memory that a plain array of the program's shows."""
    at = SourceLocation(sys._getframe(1))
    warn_at(
        at,
        f"{at}: a value that requires grad is written into a Tensor over an array that the program still holds: the "
        "array shows the value, but what is computed of the array has no gradient. Make the Tensor over memory of its "
        "own, arraygrad.asarray(array, copy=True) or t.copy(), and compute with the Tensor from then on; `del array` "
        "where nothing reads it any more.",
    )


def stays(t):
    """Whether `item()` and `tolist()` of `t`, which requires grad, give 0-d Tensors (2)."""
    return running_here() > 0 or adopting() or bool(followed_by(t))


def element(t):
    """What `t.item()` gives where the number stays in the graph."""
    found = one_element(t)
    return _given(t, found) if adopting() else found


def one_element(t):
    """The one element of a Tensor as a 0-d Tensor that behaves like a scalar."""
    if t.size != 1:
        raise ValueError(f"item(): shape {t.shape} is no single number: t[i].item() is one of them, t.sum() adds them")
    if t.ndim:
        t = t[(0,) * t.ndim]
    if adopting() and str(t.dtype) in WIDER:  # Python's numbers are doubles
        t = t.astype(WIDER[str(t.dtype)])
    return t if is_scalar(t) else as_scalar(t.copy())


def elements(t):
    """The elements as nested lists of 0-d Tensors."""
    if t.ndim == 0:
        return element(t)
    return [elements(row) for row in t]


def copied(t):
    """A recorded copy if the copy module would lose a gradient: a new leaf in place of a followed Tensor; else None."""
    return t.copy() if stays(t) else None


def becomes_bytes(t, how):
    """Refuse bytes of a Tensor that a transform follows ("pickling", "tobytes()"): what is made of them is another.

    Raises
    ------
    TypeError
    """
    traces = followed_by(t)
    if traces and is_let_go(t):
        _warn_of_let_go(t, how.removesuffix("()"), sys._getframe(1))
    elif traces:
        memo = (
            "Leave out a memo that has them as keys: what an earlier call has put there is a constant, also under "
            "the bytes of stop_gradient(t). "
            if how == "tobytes()"
            else "A memo by pickles, as joblib's, can keep gradients: memory.cache(arraygrad.grad(f)). "
        )
        text = (
            f"{place()}: {how} of a Tensor that is being differentiated would lose its gradient, as what is made of "
            "bytes is a new array. Use t.copy() for a recorded copy, arraygrad.stop_gradient(t) where only the values "
            f"are meant. {memo}Another process has a record of its own: let it return its gradient, and add the "
            "gradients, or use threads, which share the record."
        )
        raise _known(traces, TypeError(text))


def is_one_key(t, other):
    """Whether two equal numbers, of which one was hashed, are one key where they are compared.

    Where no syntax tells they are two, and a warning says so: Note [Keys that are equal].
    """
    frame = sys._getframe(1)
    while frame.f_code.co_filename.endswith(".pyx") and frame.f_back is not None:
        frame = frame.f_back  # a build with line events has frames of its own
    answer = are_one_key(frame)
    if not answer and is_followed(t) and is_followed(other):
        answer = are_one_value(t, other) or answer
    if (
        answer is None
        and not number_warnings_are_off()
        and any(isinstance(x, Tensor) and x.requires_grad and followed_by(x) for x in (t, other))
    ):
        warn_of_keys(own_frame(frame))
    return bool(answer)


def rounds(t, decimals):
    """`t`, which requires grad, is rounded to some digits: a warning tells, once per place and trace.

    The slope is zero, and right, but not the one that the program shows on a larger scale: rounding that is meant for
    the eye cuts the gradient off. Not so where the digits are only printed or compared.
    """
    frame = own_frame(sys._getframe(1))
    key, node = (frame.f_code, frame.f_lasti), gradient_edge(t)[0]
    for trace in list(RUNNING.values()):
        if not hasattr(trace, "rounded"):
            trace.rounded = set()
        if key in trace.rounded or not _follows(trace, node) or only_shown(frame):
            continue
        trace.rounded.add(key)
        at = SourceLocation(frame)
        warn_at(
            at,
            f"{at}: what is rounded to {decimals} digits has derivative zero, so no gradient flows through it. Leave "
            "the rounding out, or round arraygrad.stop_gradient(x) where a constant is meant.",
        )


def place():
    """Where the running code is, as text."""
    return str(SourceLocation(sys._getframe(1)))


def asks_by_name():
    """Whether the code of the program that runs innermost calls `x.__array__()`, and no library for it."""
    text = SourceLocation(sys._getframe(1)).expression
    return text.endswith(")") and text.rpartition("(")[0].endswith(".__array__")


def store_refused(t):
    """The error for a value of `t` that is to be written into a plain array; None where the conversion says it."""
    if is_let_go(t):
        return None
    at = SourceLocation(sys._getframe(1))
    if _cuts_off(at):
        _warn_of_cutting_off(t, at)
        return None
    text = f"{at}: a Tensor that requires grad can't be written into a plain array, whose memory holds no gradient: "
    dtype = getattr(at.target, "dtype", None)
    if getattr(dtype, "names", None) is not None:
        text += "the array is structured: use one array for each field, or numpy.rec.fromarrays([x, v], names='x, v')."
        return _known(followed_by(t), TypeError(text))
    if getattr(dtype, "kind", "f") not in "fc":
        text += f"the array has dtype {dtype}, which has no gradient: make it with a floating-point dtype. "
        if adopting():
            return _known(followed_by(t), TypeError(text.rstrip()))
    held = of_target(at.target) or holder_of_numbers(None, at.target)
    if held:
        text += f"{held}t.detach() where only the bare value is meant."
    elif adopting() and matrix_written(at.expression, at.frame):
        text += f"{matrix_written(at.expression, at.frame)}t.detach() where only the bare value is meant."
    elif at.through == "scipy":
        text += f"{way_out_of_scipy(at.called, adopting())}t.detach() where only the bare value is meant."
    elif at.through == "pandas":
        text += way_of("pandas", adopting()).rstrip()
    elif adopting() and numpy_is_kept():
        text += (
            f"{numpy_is_kept()}A copy in its place is a target, too, x = arraygrad.asarray(x, copy=True); t.detach() "
            "where only the bare value is meant."
        )
    elif adopting():
        text += (
            f"{_OF_VIEWS if getattr(at.target, 'base', None) is not None else _OF_OTHERS}"
            f"{_why[2](at.target, at.frame)}"
            "Put a copy in its place, x = numpy.array(x), which is recorded here (where an earlier call has put one "
            "there, x = numpy.array(arraygrad.stop_gradient(x))); what reads the old array gets no gradient. "
            "t.detach() where only the bare value is meant."
        )
    elif followed_by(t):
        text += (
            "let NumPy's creation functions make recordable arrays, arraygrad.grad(f, adopt=True), or put a copy in "
            "its place, x = arraygrad.asarray(x, copy=True); t.detach() where only the bare value is meant."
        )
    else:
        text += (
            "put a copy in its place, x = arraygrad.asarray(x, copy=True), or call arraygrad.adopt(f) in the place of "
            "the function f that makes it; t.detach() where only the bare value is meant."
        )
    return _known(followed_by(t), TypeError(text))


def _cuts_off(place):
    """Whether an adopted program writes into an array of integers there: what is stored has no slope, as of int(t)."""
    frame, dtype = place.frame, getattr(place.target, "dtype", None)
    stores = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("STORE_S")
    return stores and type(place.target).__name__ == "ndarray" and dtype.kind in "iub" and adopting()


def _warn_of_cutting_off(t, place):
    for trace in followed_by(t):
        _note_left(trace, f"a Tensor that is written into an array of dtype {place.target.dtype}, at {place}")
    if number_warnings_are_off():
        return
    warn_at(
        place,
        f"{place}: a Tensor that requires grad is written into an array of dtype {place.target.dtype}, which cuts off "
        "its fraction, as in a plain call: what is stored is a constant of the gradient. Make the array with a "
        "floating-point dtype where the number itself is meant; arraygrad.stop_gradient(t) where it is not, without "
        "this warning",
    )


_CAST = ("float32", "float64", "complex64", "complex128")  # adoption.scalar_names


def conversion_refused(t, how):
    """The error for a Tensor that is to become a plain array by `how`; None where it may."""
    if is_let_go(t):
        _warn_of_let_go(t, how.rpartition(".")[2], sys._getframe(1))
        return None
    at = SourceLocation(sys._getframe(1))
    if _cuts_off(at):
        return None  # `store_refused` has told
    if how == "numpy.asarray" and has_no_slope(at.called):
        return None  # numpy.isnan([t, u]): what comes out depends on no Tensor
    module = getattr(at.called, "__module__", None) or ""
    library = module.partition(".")[0]
    called = getattr(at.called, "__name__", "")
    made = library in ("numpy", "math") and called in _CREATION
    if made and how == "numpy.asarray":
        how = f"{library}.{called}"
    text = f"{at}: {how} of a tensor that requires grad would drop its gradient silently. "
    if at.library == "sklearn":
        text += f"Give it t.detach() where only the number is meant. {metric(at.callers)}"
    elif module.startswith("numpy.ma"):
        text += MASKED
    elif at.library or at.through == "pandas":
        text += way_of(at.library or at.through, adopting())
    elif called in ("ndenumerate", "nditer", "flatiter"):
        text += "numpy.ndenumerate and numpy.nditer take no Tensor: loop over numpy.ndindex(x.shape), or x.flat. "
    elif called == "broadcast":
        text += "For the shape alone: numpy.broadcast_shapes(x.shape, y.shape). It is recorded in adopted calls. "
    elif made:
        text += of_code(at.filename) or _OF_LISTS
        if not adopting():
            text += _in_other_thread(followed_by(t)) or f"In arraygrad.grad(f, adopt=True) {how} does so itself. "
    elif module.startswith("numpy.polynomial") and not adopting():
        text += "Polynomials are recorded in arraygrad.grad(f, adopt=True). "
    elif called in ("matrix", "asmatrix", "bmat"):
        text += "A matrix of NumPy's holds no gradient: use arrays, numpy.array([...]), and `@` for their products. "
    elif called == "as_strided":
        text += (
            "It reads memory without regard to shape, and asks no Tensor: use "
            "numpy.lib.stride_tricks.sliding_window_view(t, shape), a slice, or t[indices], which are recorded; in "
            "arraygrad.grad(f, adopt=True) as_strided is recorded itself. "
        )
    elif called == "poly1d":
        text += "It keeps its coefficients in a plain array: numpy.polyval(coefficients, x) is recorded. "
    elif drawn(at.expression) and "scipy" not in (at.through, library):
        text += drawn(at.expression)
    elif module == "numpy" and isinstance(at.called, type):
        text += "A scalar of NumPy's holds no gradient: leave the 0-d Tensor as it is, or x.astype(dtype). "
        if called in _CAST and not _kept(at):
            text += (
                f"(In adopted calls numpy.{called} stays recorded, unless code there compares types by `is`.) "
                if adopting()
                else f"In arraygrad.grad(f, adopt=True) numpy.{called} stays recorded. "
            )
    elif library == "numpy":
        text += "Give it the Tensor itself, and arraygrad.asarray([...]) in the place of a list of Tensors; where "
        text += f"a parameter of {called} takes plain numbers alone, compose its formula of functions that are recorded"
        text += ". " if adopting() else ", or call it in arraygrad.grad(f, adopt=True), which takes lists. "
    elif at.through == "scipy" or library == "scipy":
        way = way_out_of_scipy(at.called, adopting())
        text += _OF_NO_ARRAY if adopting() and "has a namesake" in way and _has_list(at) else way
    elif library in ("_operator", "operator", "arraygrad"):
        text += _OF_NO_ARRAY if adopting() else _OF_LISTS
    elif library and library not in ("builtins", "__main__"):
        text += f"{library}'s functions take no Tensor where they convert what they are given: "
        text += "compose the value of functions that are recorded, or define its derivative by arraygrad.primitive. "
    elif not called and of_an_array(at.expression):
        text += of_an_array(at.expression)
    elif not called and is_of_operators(at.expression) and _has_masked(at):
        text += MASKED
    elif not called and is_of_operators(at.expression):
        text += (
            "A list that holds Tensors, a masked array or a numpy.poly1d stands there: make the list an array first, "
            "numpy.array([...]); take x.filled(0.0) and the mask apart; p * (1.0 / t) is recorded, p / t is not. "
        )
    elif not called and is_index(at.expression) and t.ndim == 0:
        text += "An index is a whole number: give int(t). "
    elif adopting():
        text += (
            "Adoption does not reach the code that asks for the array (compiled code, an array library): compose the "
            "value of functions that are recorded. "
        )
    else:
        text += (
            "To stay recorded: NumPy's functions on the Tensor itself, arraygrad.asarray([...]) for lists of Tensors, "
            "arraygrad.asarray(x) for an array x that it is to be written into, or arraygrad.grad(f, adopt=True). "
        )
    text += _kept(at)
    text += (
        "t.detach() and t.numpy() give the values without a gradient; arraygrad.testing.assert_allclose compares them."
    )
    return _known(followed_by(t), TypeError(text))


def _has_list(at):
    """Whether an expression writes a list out, as the argument of a call."""
    return any(isinstance(node, ast.List) for node in ast.walk(parsed(at.expression) or ast.Module([], [])))


def _has_masked(at):
    """Whether a masked array stands in an expression under a name."""
    nodes = ast.walk(parsed(at.expression) or ast.Module([], []))
    return any(type(object_of(node, at.frame)).__module__.startswith("numpy.ma") for node in nodes)


def adopting():
    """Whether this thread runs an adopted call."""
    return _adoption is not None and _adoption()


def _kept(at):
    """What to say in an adopted call of names at a place that a comparison keeps; "" elsewhere."""
    return _why[0](at.expression, at.frame) if adopting() else ""


def numpy_is_kept():
    """What to say in an adopted call where numpy makes plain arrays because code compares it; "" elsewhere."""
    return _why[1](SourceLocation(sys._getframe(1)).frame) if adopting() else ""


def unadopted(function, args, kwargs):
    """Call a function that computes with raw arrays: what it makes stays raw in an adopted call too."""
    return function(*args, **kwargs) if _without is None else _without(function, args, kwargs)


def set_adoption(question, without, given, why):
    """Have `question()` say whether this thread runs an adopted call, `without(f, args, kwargs)` call as if not.

    `given(t, number)` marks a number that an adopted call takes out of `t`, and gives it. `why` says in an adopted call
    why names of an expression are not exchanged: two functions, of (expression, frame) and for NumPy of (frame); and a
    third why an array is not recordable.
    """
    global _adoption, _without, _given, _why
    _adoption, _without, _given, _why = question, without, given, why


_adoption = _without = _given = _why = None  # see set_adoption: adoption is imported on first use

_CREATION = frozenset(("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "full", "fromiter"))
_OF_OTHERS = "the array was made where adoption does not reach, before the call or by a library. "
_OF_VIEWS = (
    "the array is a view of another one's memory: that was made before the call or by a library, or `view(dtype)` or "
    "nditer made the view (write into the array itself there, by its items). "
)
_OF_NO_ARRAY = "A list that holds Tensors is no array: make it one first, numpy.array([...]), which is recorded. "
_OF_LISTS = "Write arraygrad.asarray([...]) in its place, which takes nested lists of numbers and Tensors. "


def refusal(t, error):
    """`error`, which refuses to go on without the gradient of `t`, known to the transforms that follow it."""
    return _known(followed_by(t), error)


def _known(traces, error):
    """`error`, known to `traces` in case that another one takes its place: `TrackedCall.call`."""
    error.lost_gradient = True
    error.adopted = adopting()
    if error.adopted or traces:
        error.args = (of_plain_calls(error.args[0]),)
    error.of_a_transform = bool(traces)
    for trace in traces:
        if trace.refused is None:
            trace.refusals = {}
        trace.refused = error
        trace.refusals.setdefault(str(error), error)  # a loop refuses the same again and again
    return error


def is_refused_here(error):
    """Whether an error refuses a Tensor of the code that runs now, not of a transform that it has called."""
    if not getattr(error, "lost_gradient", False):
        return False
    return not error.of_a_transform or any(trace.refused is error for trace in list(RUNNING.values()))


def followed_by(t):
    """The running traces to whose arguments the history of `t` reaches."""
    if not RUNNING:
        return []
    owners = {edge.node: trace for trace in list(RUNNING.values()) for edge in trace.edges}
    found = set()
    for node in walk([gradient_edge(t)[0]]):
        if node in owners:
            found.add(owners[node])
            if len(found) == len(RUNNING):
                break
    return list(found)


# -- what is said ------------------------------------------------------------------------------------------------------


def _told(place, how, followed, t):
    """What happened at a place, and the ways out of it."""
    state = "that is being differentiated" if followed else "that requires grad"
    text = f"a Tensor {state} becomes a Python number by {how}(), which no gradient reaches. "
    way = recorded_name(place.called)
    kept = _kept(place)
    if place.library == "sklearn":
        text += f"Give it t.detach() where only the number is meant. {kept}{metric(place.callers)}"
    elif place.library:
        text += f"{way_of(place.library, adopting())}{kept}"
    elif way or kept:
        text += f"Use {way}, which is recorded. " * bool(way) + kept
        if not adopting():
            text += _adopted_or_elsewhere(followed)
    elif how == "complex":
        text += "Leave the 0-d Tensor as it is, or use a + 1j * b. "
    elif formats(sys._getframe(2)):
        text += "For text write f'{x:.3f}' or '{:.3f}'.format(x), which show the value. "
    elif place.called is None and of_an_array(place.expression):
        text += of_an_array(place.expression)
    elif ".as_integer_ratio(" in place.expression:
        text += "Two ints hold no gradient: compute with the Tensor itself, whose value their quotient is. "
    elif place.through == "scipy":
        text += way_out_of_scipy(place.called, adopting())
    elif adopting() and ".__new__(" in place.expression:
        text += (
            "A class derived from float keeps a bare number: let the class hold the number in an attribute, or give "
            "the function that computes the Tensor itself. "
        )
    elif holder_of_numbers(place.called, place.target, place.expression):
        text += holder_of_numbers(place.called, place.target, place.expression)
    elif adopting():
        text += (
            "Compiled code or a library asks for the number here, or a float() or function of math that adoption does "
            "not replace, as a class attribute or a tuple holds it, or its module compares it by `is`. Call functions "
            "of math by their names, as in math.exp(x), or leave the 0-d Tensor as it is; arraygrad.primitive gives "
            "compiled code, as a function of ctypes, its derivative. "
        )
    else:
        text += (
            "Leave the 0-d Tensor as it is: NumPy's functions and operators take it as a number, and `a @ b` of "
            "vectors, `x[0]` and `t.item()` stay recorded in a transform. "
        )
        text += _adopted_or_elsewhere(followed)
    return f"{text}Where only the bare number is meant: {how}(arraygrad.stop_gradient(t)), or t.detach()."


def _in_other_thread(followed):
    """What to say where a transform that follows a Tensor runs in another thread; "" elsewhere."""
    if not followed or running_here():
        return ""
    return (
        "This line runs in another thread than the transform, which adoption does not reach: call it in the "
        "transform's own thread, where float(), functions of math and numpy.array are recorded. "
    )


def _adopted_or_elsewhere(followed):
    """What to say of adoption where this thread does not adopt."""
    elsewhere = _in_other_thread(followed)
    if elsewhere:
        return elsewhere
    if followed:
        return "In arraygrad.grad(f, adopt=True) float() and functions of math are recorded. "
    return (
        "In functions that arraygrad.grad(f) or arraygrad.adopt(f) calls, float() and functions of math are recorded; "
        "what such a function keeps after its call is a Tensor, x.detach() of it a constant. "
    )


def _checked(name, policy):
    if policy not in _POLICIES:
        raise ValueError(f"{name}: expected 'default', 'raise', 'warn' or 'off', but got {policy!r}")
