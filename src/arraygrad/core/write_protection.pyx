# Before memory is overwritten: what nodes saved of it is kept, or marked as gone.
# See Note [Who may write this memory] in exposed_memory.pyx.
# May import: engine.*, core.op, core.value.
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libcpp.vector cimport vector

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, Section, enable_try_incref
from arraygrad.engine.streams cimport meta_of_copy
from arraygrad.core.value cimport (
    Backend, Storage, TensorBase, Value, UNTOUCHED, WRITTEN, is_lost, is_shown, join, leave, refuses_overwriting,
    shown_by, storage_of, value_over,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef extern from "value_memory.hpp" namespace "arraygrad":
    void hand_on(Value v) noexcept
    void hold_saved(Storage s, vector[void*]& held, bint all, Value v) noexcept
    void move_entry(Value v, Value fresh) noexcept
    bint in_order(Storage s, Value v) noexcept

COUNTS_TELL = not FREE_THREADED         # whether a write knows by a count what nobody saved
cdef bint _watched = True               # set_watched
# A write that meets more saved views than this that it does not touch gives those of at most so many elements copies.
cdef enum:
    MANY_APART = 16
    SMALL = 128


cdef int protect(Value v, object written, Py_ssize_t held, bint copy) except -1:
    """Before memory of `written` is overwritten: keep what nodes saved in `v` (Note [Saved values], 2).

    The caller has `held` references to `v`. Returns 1 where something is saved in `v`, in other memory.
    """
    cdef Backend backend = <Backend>v.meta.ops
    cdef TensorBase t
    cdef Value fresh
    cdef object raw
    cdef Section section
    if is_shown(v) and not v.kept_by_hook:
        held += 1
    if Py_REFCNT(<PyObject*>v) <= held or v.overwritten == WRITTEN:
        return 0
    if v.raw is not written and not backend.shares_memory(v.raw, written):
        return 1
    if v.overwritten:                   # given away, and nobody can write its copy
        v.overwritten = WRITTEN if is_lost(v) else UNTOUCHED
    raw = backend.clone(v.raw, v.raw) if copy else v.raw
    meta = meta_of_copy(v.meta) if copy else v.meta
    t = None if v.kept_by_hook else shown_by(v)
    if t is not None:
        fresh = value_over(v.raw, v.meta)
        fresh.version = v.version
        fresh.inference = v.inference
        fresh.exposed = v.exposed
        if v.storage is not None or not copy:
            join(fresh, v)
        if v.owner:
            enable_try_incref(<PyObject*>fresh)
            move_entry(v, fresh)
        section.begin(<PyObject*>t)     # who makes a view of t meanwhile finds its memory, not the copy: raw_now
        fresh.tensor = v.tensor
        v.tensor = NULL
        t.value = fresh
        v.raw, raw = raw, v.raw
        v.meta = meta
        section.end()
    else:
        if v.owner:
            hand_on(v)
        v.raw, raw = raw, v.raw
        v.meta = meta
    if copy:
        leave(v)
    else:
        storage_of(v)
        v.version = v.storage.version
        v.overwritten = WRITTEN
    return 0


cdef int before_write(TensorBase t) except -1:
    """Protect every saved Value that shares memory with `t`."""
    t.value.kept_by_hook = False              # if it was, `t` is written itself now
    if t.value.meta.stream is not None:
        t.value.meta.ops.runtime.before_write(t.value.raw)
    return protect_all(t, not refuses_overwriting())


cdef int protect_all(TensorBase t, bint copy) except -1:
    cdef Value v = t.value
    cdef Storage s = v.storage
    cdef vector[void*] members
    cdef size_t n = 0, done = 0, apart = 0
    cdef object written = v.raw
    if s is None:
        protect(v, written, 1, copy)
        return 0
    v = None
    s.writing.lock()                    # views of one memory may be written by several threads, each its own part
    try:
        s.guard.lock()
        hold_saved(s, members, not _watched, v)     # protect() changes the list, and may let Values go
        s.guard.unlock()
        n = members.size()
        while done < n:
            v = <Value>members[done]
            done += 1
            if protect(v, written, 2, copy) == 1:
                members[apart] = <void*>v
                apart += 1
            else:
                Py_DECREF(v)            # try_incref() added one
        if apart > MANY_APART and copy and _watched:
            copy_small(members, apart)
    finally:
        while apart:
            apart -= 1
            Py_DECREF(<Value>members[apart])
        while done < n:                 # after an error only
            Py_DECREF(<Value>members[done])
            done += 1
        s.writing.unlock()
    return 0


cdef int copy_small(vector[void*]& members, size_t n) except -1:
    """Give the small ones of the first `n` members, which are saved, the copies that a write would give them (3)."""
    cdef Value v
    cdef size_t i
    for i in range(n):
        v = <Value>members[i]
        if v.meta.stream is None and is_small(v.meta):
            protect(v, v.raw, 2, True)
    return 0


cdef bint is_small(GradMeta meta) noexcept:
    cdef Py_ssize_t size = 1
    cdef int i
    if meta.ndim > 8:                   # dims has no room for all
        return False
    for i in range(meta.ndim):
        size *= meta.dims[i]
    return size <= SMALL


cdef int mark_overwritten(TensorBase t) except -1:
    """The memory was written already, unseen: what nodes saved of it is gone, so unpacking it must raise."""
    return protect_all(t, False)


cdef int bump(TensorBase t) except -1:
    cdef Storage s = t.value.storage
    if s is None:
        t.value.version += 1
    else:
        s.guard.lock()
        s.version += 1
        s.guard.unlock()
    return 0


def hand_back(TensorBase t not None):
    """The program writes into the memory of `t` from now on, unseen. What nodes saved of it is copied.

    What they save of it later is compared in backward (Note [Constants that change]).
    """
    cdef Storage s = t.value.storage
    cdef size_t i
    protect_all(t, True)
    t.value.exposed = True
    if s is not None:
        s.guard.lock()
        for i in range(s.members.size()):
            (<Value>s.members[i]).exposed = True
        s.guard.unlock()


def set_watched(bint on):
    """Whether a write looks at the views that something may have saved, or (False) at all. Returns the setting before.

    See Note [Watched members] in value_memory.hpp.
    """
    global _watched
    before = _watched
    _watched = on
    return before


def members_of(TensorBase t not None):
    """How many Values a write into `t` looks at, and how many stand over its memory. AssertionError: in disorder.

    For tests.
    """
    cdef Storage s = t.value.storage
    if s is None:
        return 1, 1
    if not in_order(s, t.value):
        raise AssertionError("members of a Storage are not where they say")
    return s.watched, s.members.size()
