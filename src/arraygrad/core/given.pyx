# Memory that the program holds too: given to it by a Tensor, or wrapped by several.
# May import: engine.*, core.op, core.value, core.overwriting, core.constants.
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.core.constants cimport constant_check, CONSTANT_COPY, CONSTANT_FULL, CONSTANT_OFF
from arraygrad.engine.free_threading cimport Section, enable_try_incref, try_incref
from arraygrad.core.overwriting cimport protect
from arraygrad.core.value cimport (
    Backend, Storage, TensorBase, Value, join, registered, shown_by, storage_now, value_over, wrap, GIVEN,
    GIVEN_FULL,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef extern from "owners.hpp" namespace "arraygrad":
    cdef cppclass Owners:
        void* find(uint64_t owner)
        void put(uint64_t owner, void* value) except +
    Owners& owners()
    void guard_owners()
    void free_owners()

# From so many views on that stand beside the memory that is given away, they count as given too: a program that takes
# the arrays out of many views, one after the other, would look at all of them each time.
cdef enum:
    MANY_APART = 256


cdef int give(TensorBase t) except -1:
    """The memory of `t` is given to the program, who may write it unseen: Note [Saved values] in value.pyx, 4."""
    cdef Value v = t.value
    cdef Storage s
    cdef object given = v.raw
    cdef list members
    cdef list apart = []
    if v.foreign or not (<Backend>v.meta.ops).mutable:
        return 0
    s = storage_now(v)
    if s is None:
        give_value(v, given, 1)
    else:
        v = None
        s.writing.lock()
        try:
            members = living(s)
            while members:
                v = members.pop()
                if give_value(v, given, 1) == 1:
                    apart.append(v)
            if len(apart) > MANY_APART:
                while apart:
                    v = apart.pop()
                    give_value(v, v.raw, 1)
        finally:
            s.writing.unlock()
    return enter(t.value)


cdef int give_value(Value v, object given, Py_ssize_t held) except -1:
    """`v`, to which the caller has `held` references, is over memory that is given away; returns 1 if it does not."""
    cdef Backend backend = <Backend>v.meta.ops
    cdef TensorBase t
    cdef Value fresh
    cdef Section section
    if v.foreign or v.overwritten:
        return 0
    if v.raw is not given and not backend.shares_memory(v.raw, given):
        return 1
    t = None if v.pinned else shown_by(v)
    if constant_check == CONSTANT_OFF or Py_REFCNT(<PyObject*>v) <= held + (t is not None):
        v.foreign = True
        return 0
    if constant_check == CONSTANT_COPY:
        protect(v, given, held, True)
    else:
        v.print = backend.fingerprint(v.raw, constant_check == CONSTANT_FULL)
        if t is not None:
            fresh = value_over(v.raw, v.meta)
            fresh.version = v.version
            fresh.inference = v.inference
            join(fresh, v)
            section.begin(<PyObject*>t)
            fresh.tensor = v.tensor
            v.tensor = NULL
            t.value = fresh
            section.end()
        v.overwritten = GIVEN_FULL if constant_check == CONSTANT_FULL else GIVEN
    if t is not None:
        t.value.foreign = True
    return 0


cdef list living(Storage s):
    """The Values of a Storage."""
    cdef list found = []
    cdef vector[void*] members
    cdef size_t i
    s.guard.lock()
    for i in range(s.members.size()):
        if try_incref(<PyObject*>s.members[i]):
            members.push_back(s.members[i])
    s.guard.unlock()
    for i in range(members.size()):
        found.append(<Value>members[i])
        Py_DECREF(<Value>members[i])    # try_incref() added one
    return found


cdef int enter(Value v) except -1:
    """Have `v`, over memory that the program holds too, and other Values over that memory know of each other."""
    cdef uint64_t owner = (<Backend>v.meta.ops).owner(v.raw)
    cdef PyObject* found
    cdef Value other
    if owner == 0 or v.owner:
        return 0
    guard_owners()
    found = <PyObject*>owners().find(owner)
    if found != NULL and not try_incref(found):
        found = NULL
    if found == NULL:
        enable_try_incref(<PyObject*>v)
        v.owner = owner
        owners().put(owner, <void*>v)
    free_owners()
    if found != NULL:
        other = <Value>found
        Py_DECREF(other)                # try_incref() added one
        if v.storage is None:
            join(v, other)
    return 0


def raw_array(TensorBase t not None):
    """`t.array` for code that only reads it and does not keep it: its memory does not count as given away."""
    return t.value.raw


def note_holder(TensorBase t not None):
    """Note that the program holds the array under `t` too, and may write it."""
    t.value.foreign = True
    enter(t.value)


def note_source(TensorBase t not None, source):
    """Note that `t`, made from `source` by way of DLPack, may be over the memory of another stream than its own.

    Host memory belongs to no stream; its content tells what was written to it (Note [Constants that change]).
    """
    cdef Backend backend
    cdef Value other
    if t.value.meta.stream is None or t.value.storage is not None:
        return
    if isinstance(source, TensorBase):
        other = (<TensorBase>source).value
    else:
        backend = registered(type(source))
        if backend is None:
            return
        other = wrap(source, backend).value
        enter(other)
    if (<Backend>t.value.meta.ops).shares_memory(t.value.raw, other.raw):
        join(t.value, other)
