# What a traced program decides by comparisons of recorded values, noted per place.
# May import: engine.node, core.op, core.value, numpy.
#
# Note [Decisions of a program]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A comparison has no slope. Where it only says which of two formulas holds, nothing is lost. A search by comparisons
# (bisection, golden section) is another thing: its result is put together of values that comparisons selected, and
# depends on what was compared through the selection alone, which no gradient reaches. One sees it by what is compared:
# the two sides approach each other, from comparison to comparison at one place, while their derivatives do not.
# So a function transform has each place noted at which recorded values are compared: a few of the first pairs, and the
# last ones. transforms/searches.py looks at them when the function has returned. Places in arraygrad and NumPy are not
# the program's. Noted is nothing where no transform runs, and of the first comparisons at a place no more than that
# they were.
# A Tensor keeps its graph alive, and with that the arrays of the program. So most pairs are kept as plain values, of
# large arrays a sample of their elements. `recorded` has the few pairs of Tensors whose derivatives are asked for.
# Guarded by tests/adoption/test_own_searches.py.
import numpy

from cpython.object cimport PyObject

from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.node cimport thread_state

cdef extern from *:
    """
    #include <Python.h>
    // The dict of the places that the running transform of this thread has noted, which Traced owns; NULL outside.
    static thread_local PyObject* arraygrad_decisions = NULL;
    """
    PyObject* arraygrad_decisions

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    ctypedef struct PyCodeObject:
        pass
    PyFrameObject* PyEval_GetFrame()                    # borrowed
    PyCodeObject* PyFrame_GetCode(PyFrameObject* frame)  # new
    int PyFrame_GetLasti(PyFrameObject* frame)
    void Py_DECREF(PyCodeObject* o)

cdef enum:
    IGNORED = 3             # so many comparisons at a place are not kept
    FIRST = 16              # so many of the next ones are,
    LAST = 4                # and so many of the last
    RECORDED = 8            # so many of the first with their graphs, and of small arrays
    EVERY = 2               # one in so many of the others
    LARGE = 1000            # elements
    ASKED = 8               # at this one the frame is looked at

cdef frozenset deciding = frozenset(("less", "less_equal", "greater", "greater_equal", "sign", "signbit"))
cdef object _selects = None
cdef object _approach = None


def set_criteria(selects, approach):
    """Have `selects(frame)` say whether the branches that are decided there select values, not places in a table.

    `approach(pairs)` says of the first pairs of values whether those of an element approach each other.
    """
    global _selects, _approach
    _selects, _approach = selects, approach


cdef class Decided:
    """A place where recorded values are compared.

    Attributes
    ----------
    first, last : list of (a, b)
        Values, of every `stride`-th element.
    recorded : dict of int to (a, b)
        By their place in `first`: as they were given. One of the two at least requires grad.
    """
    cdef readonly object code
    cdef readonly int at
    cdef readonly Py_ssize_t count, stride
    cdef readonly list first, last
    cdef readonly dict recorded
    cdef readonly bint ignored
    cdef readonly object line


cdef PyObject* watch_decisions(PyObject* found) noexcept:
    """Have the places of this thread noted in the dict `found` (borrowed); returns the one before."""
    global arraygrad_decisions
    cdef PyObject* before = arraygrad_decisions
    arraygrad_decisions = found
    return before


cdef int decided(Op op, object a, object b, TensorBase out) except -1:
    """Note an operation whose operands require grad and whose result has no slope. `b` is None for one operand."""
    cdef PyFrameObject* here
    cdef PyCodeObject* code
    cdef object frame
    cdef Decided place
    cdef int at
    if arraygrad_decisions == NULL or op.name not in deciding or not thread_state().grad_mode:
        return 0
    here = PyEval_GetFrame()
    if here == NULL:
        return 0
    frame = <object>here
    code = PyFrame_GetCode(here)
    at = PyFrame_GetLasti(here)
    try:
        key = (<size_t>code << 16) + at
        places = <dict>arraygrad_decisions
        place = places.get(key)
        if place is None:
            place = Decided()
            place.code = <object>code
            place.at = at
            place.first, place.last, place.recorded = [], [], {}
            place.stride = 1 + (out.value.meta.size - 1) // LARGE if out.value.meta.size else 1
            place.line = frame.f_lineno
            name = frame.f_globals.get("__name__", "")
            place.ignored = isinstance(name, str) and (<str>name).startswith(("arraygrad.", "numpy."))
            places[key] = place
    finally:
        Py_DECREF(code)
    place.count += 1
    if place.ignored or place.count <= IGNORED:
        return 0
    if place.count == ASKED and _selects is not None and not _selects(frame):
        place.ignored = True
        place.first, place.last, place.recorded = [], [], {}
        return 0
    if b is None:
        b = 0.0
    try:
        pair = (sample(a, out, place.stride), sample(b, out, place.stride))
    except (TypeError, ValueError):     # a large array of a library that does not give it to NumPy
        place.ignored = True
        place.first, place.last, place.recorded = [], [], {}
        return 0
    at = <int>len(place.first)
    if at < FIRST:
        place.first.append(pair)
        if at < RECORDED or (place.stride == 1 and at % EVERY == 0):
            place.recorded[at] = (a, b)
        if at == FIRST - 1 and _approach is not None and not _approach(place.first):
            place.ignored = True
            place.first, place.last, place.recorded = [], [], {}
    else:
        if len(place.last) == LAST:
            del place.last[0]
        place.last.append(pair)
    return 0


cdef object sample(object x, TensorBase out, Py_ssize_t stride):
    """The value of an operand; every `stride`-th element of what it is broadcast to."""
    raw = (<TensorBase>x).value.raw if isinstance(x, TensorBase) else x
    if stride == 1:
        return raw
    return numpy.broadcast_to(raw, out.value.meta.shape_tuple()).flat[::stride]
