# What a traced program decides by comparisons of recorded values, noted per place.
# May import: engine.node, core.op, core.value.
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
# Guarded by tests/adoption/test_own_searches.py.
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
    FEW = 3                 # so many of large arrays,
    LAST = 4                # and so many of the last
    LARGE = 1000            # elements
    ASKED = 8               # at this one the frame is looked at

cdef frozenset deciding = frozenset(("less", "less_equal", "greater", "greater_equal", "sign", "signbit"))
cdef object _selects = None


def set_selects(selects):
    """Have `selects(frame)` say whether the branches that are decided there select values, not places in a table."""
    global _selects
    _selects = selects


cdef class Decided:
    """A place where recorded values are compared.

    `first` and `last` are of (a, b), of which one at least requires grad.
    """
    cdef readonly object code
    cdef readonly int at
    cdef readonly Py_ssize_t count
    cdef readonly list first, last
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
            place.first, place.last = [], []
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
        place.first, place.last = [], []
        return 0
    pair = (a, 0.0 if b is None else b)
    if len(place.first) < (FIRST if out.value.meta.size <= LARGE else FEW):
        place.first.append(pair)
    else:
        if len(place.last) == LAST:
            del place.last[0]
        place.last.append(pair)
    return 0
