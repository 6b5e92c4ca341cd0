# Memory that the program holds too: given to it by a Tensor, wrapped by several, or returned by its functions.
# May import: engine.*, core.op, core.value, core.write_protection, core.constant_checks.
#
# Note [Who may write this memory]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A node saves arrays without copying them, so whoever writes one later would change a gradient. What is done about it
# depends on who writes. The words below are used so, and no other way, in all of core.
# (1) A Tensor writes (`x += 1`, `x[0] = y`). Every such write passes by us, so it is known beforehand.
#     write_protection.pyx then gives what nodes saved a copy, or marks it as overwritten. All Values over one memory
#     are members of one Storage, so that a write through one reaches the others: Note [Saved values] in value.pyx.
# (2) The program writes its own array. Nobody sees that write. A Value over memory that the program can reach is
#     *exposed* (Value.exposed). It becomes so in four ways: asarray or a transform wrapped the program's array (by
#     `note_holder`); a Tensor gave its memory away by t.array, t.numpy() or DLPack (`expose`); a function of the
#     program's returned it (`returned`); code outside of the graph reads it as a plain array (exports.pyx).
# (3) What a node saves of exposed memory, and raw arrays that it saves, are compared in backward with what they were:
#     constant_checks.pyx, Note [Constants that change]. What nodes had saved before the memory was exposed gets a
#     fingerprint then (Value.overwritten is FINGERPRINTED).
# (4) Two exposed Values over one memory have to know of each other, though they were made apart. memory_owners.hpp
#     finds them by the memory's owner: Note [Values over one raw array].
# (5) A pack hook may hold the Tensor that it was given. What that Tensor shows counts as saved, whatever reference
#     counts say (Value.kept_by_hook).
# (6) A function of the program's must not write what it is given, as its node may have saved that: ArgumentWatch.
# A write of kind (1) is never refused because of (3); one of kind (2) never goes unnoticed but for what
# set_constant_check says. Guarded by tests/reliability/test_exposed_memory.py, test_changed_arrays.py,
# test_arrays_under_several_tensors.py, test_returned_memory.py and test_pack_hooks_that_keep.py.
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.core.constant_checks cimport constant_check, Contents, CONSTANT_COPY, CONSTANT_FULL, CONSTANT_OFF
from arraygrad.engine.arrayops cimport GradMeta, is_held
from arraygrad.engine.free_threading cimport Section, enable_try_incref, try_incref
from arraygrad.core.write_protection cimport bump, mark_overwritten, protect
from arraygrad.core.value cimport (
    Backend, Extra, Storage, TensorBase, Value, find_backend, join, join_base, need_extra, new_tensor, registered,
    shown_by, storage_now, value_over, version_of, wrap, FINGERPRINTED, FINGERPRINTED_FULL,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef extern from "memory_owners.hpp" namespace "arraygrad":
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


cdef int expose(TensorBase t) except -1:
    """The memory of `t` is given to the program, who may write it unseen: Note [Saved values] in value.pyx, 4."""
    cdef Value v = t.value
    cdef Storage s
    cdef object given = v.raw
    cdef list members
    cdef list apart = []
    if v.exposed or not (<Backend>v.meta.ops).mutable:
        return 0
    if v.meta.stream is not None:
        v.meta.ops.runtime.given(given)
    s = storage_now(v)
    if s is None:
        expose_value(v, given, 1)
    else:
        v = None
        s.writing.lock()
        try:
            members = living(s)
            while members:
                v = members.pop()
                if expose_value(v, given, 1) == 1:
                    apart.append(v)
            if len(apart) > MANY_APART:
                while apart:
                    v = apart.pop()
                    expose_value(v, v.raw, 1)
        finally:
            s.writing.unlock()
    return enter(t.value)


cdef int expose_value(Value v, object given, Py_ssize_t held) except -1:
    """`v`, to which the caller has `held` references, is over memory that is given away; returns 1 if it does not."""
    cdef Backend backend = <Backend>v.meta.ops
    cdef TensorBase t
    cdef Value fresh
    cdef Section section
    if v.exposed or v.overwritten:
        return 0
    if v.raw is not given and not backend.shares_memory(v.raw, given):
        return 1
    t = None if v.kept_by_hook else shown_by(v)
    if constant_check == CONSTANT_OFF or Py_REFCNT(<PyObject*>v) <= held + (t is not None):
        v.exposed = True
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
        v.overwritten = FINGERPRINTED_FULL if constant_check == CONSTANT_FULL else FINGERPRINTED
    if t is not None:
        t.value.exposed = True
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


cdef object _read_watch = None          # see set_read_watch


def set_read_watch(watch):
    """Have `watch(raw array, "raw_array")` called whenever Python code of ours reads an array; None: no longer. Returns
    the previous one. For captures.
    """
    global _read_watch
    previous = _read_watch
    _read_watch = watch
    return previous


def raw_array(TensorBase t not None):
    """`t.array` for code that only reads it and does not keep it: its memory does not count as given away."""
    if _read_watch is not None:
        _read_watch(t.value.raw, "raw_array")
    return t.value.raw


def raw_handle(TensorBase t not None):
    """`raw_array` for code that hands the array on and does not look at its values."""
    return t.value.raw


def note_holder(TensorBase t not None):
    """Note that the program holds the array under `t` too, and may write it."""
    t.value.exposed = True
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


# Note [Returned memory]
# ~~~~~~~~~~~~~~~~~~~~~~
# What a primitive, or the forward of a Function, returns may be memory that others hold: an argument or a view of one,
# a buffer that the next call overwrites, a cache. Reference counts tell (is_held), so a new array costs no more than
# that look.
# (1) Memory of an argument: the result is noted as a view of it. Writes to either that would have to be recorded are
#     refused, as for every view whose derivative is the user's own.
# (2) Other memory, where the call is recorded: the result is a copy, so that later writes do not change what nodes
#     need. In the plain program it would show later writes. So the Tensor remembers the memory and its content
#     (Source); a use of the Tensor after such a write is refused, and so is a write to the Tensor, which would have to
#     show there.
# (3) Not recorded: the result is over that memory, as in the plain program; nodes that save it compare it (Note
#     [Constants that change]).
# set_constant_check("off") turns the comparison of (2) off. Guarded by tests/reliability/test_returned_memory.py.
cdef class Source:
    """The memory under what a function returned, as it was then."""
    cdef Contents contents
    cdef str name

    def check(self):
        """Raise RuntimeError if the program has written that memory."""
        if self.contents.written():
            raise RuntimeError(
                f"{self.name} returned memory that the program holds too (a buffer, a cache), which was written since: "
                f"without arraygrad the result would show the new content, whose gradient is not known. Have "
                f"{self.name} return a new array (array.copy()), or use the result before the memory is written again")


cdef int remember(TensorBase t, object memory, str name) except -1:
    cdef Source source = Source.__new__(Source)
    cdef Extra e = need_extra(t)
    source.contents = Contents({"memory": memory})
    source.name = name
    e.source = source
    if e.forbidden is None:
        e.forbidden = "held"
    return 0


cdef TensorBase returned(object raw, Py_ssize_t held, object args, bint recorded, str name):
    """A Tensor of the array `raw`, to which the caller has `held` references: Note [Returned memory].

    `args` are those of the call, `name` is the function's.
    """
    cdef Backend backend = find_backend(raw)
    cdef TensorBase t
    cdef Extra e
    cdef long history
    if not backend.mutable or not is_held(raw, held):
        return wrap(raw, backend)
    for arg in args:
        if (isinstance(arg, TensorBase) and (<TensorBase>arg).value.meta.ops is backend
                and backend.shares_memory(raw, (<TensorBase>arg).value.raw)):
            t = new_tensor(raw, backend.meta(raw))                                      # (1)
            join_base(t.value, <TensorBase>arg, &history)
            e = need_extra(t)
            e.parent = <TensorBase>arg
            e.seen = history
            e.forbidden = "function"
            t.value.exposed = (<TensorBase>arg).value.exposed
            return t
    if recorded and backend.meta(raw).is_floating:
        t = wrap(backend.clone(raw, raw), backend)                                      # (2)
        remember(t, raw, name)
        return t
    t = wrap(raw, backend)                                                              # (3)
    t.value.exposed = True
    enter(t.value)
    return t


cdef int note_returned(TensorBase t, Py_ssize_t held, str name) except -1:
    """The same for a Tensor that a recorded call returns, to which the caller has `held` references."""
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef object raw = t.value.raw
    cdef Value fresh
    if not t.value.exposed or not backend.mutable or not is_held(raw, 2) or t.extra is not None and (
            t.extra.parent is not None):
        return 0
    if Py_REFCNT(<PyObject*>t) <= held:
        fresh = value_over(backend.clone(raw, raw), t.value.meta)
        t.value.tensor = NULL
        fresh.tensor = <void*>t
        t.value = fresh
    remember(t, raw, name)
    return 0


def results_of(list box, args, bint recorded, str name):
    """(results, class) of a function on raw arrays, whose result is the only item of `box` and held nowhere else.

    Results are Tensors of the library of the first Tensor among `args`, where they are no arrays themselves; class is
    that of the tuple of them, None where there is one that is no tuple. See Note [Returned memory].
    """
    cdef object result = box.pop()
    cdef object kind = type(result) if isinstance(result, tuple) else None
    cdef list parts = list(result) if kind is not None else [result]
    cdef list found = []
    cdef TensorBase like = None
    cdef object part, raw
    cdef GradMeta meta
    result = None
    for part in args:
        if isinstance(part, TensorBase):
            like = <TensorBase>part
            break
    meta = like.value.meta
    for part in parts:
        if isinstance(part, TensorBase):
            raw = (<TensorBase>part).value.raw      # held by the Value and here, the Tensor by `parts` and `part`
            found.append(returned(raw, 2 if Py_REFCNT(<PyObject*>part) <= 2 else 0, args, recorded, name))
            raw = None
        elif registered(type(part)) is not None:
            found.append(returned(part, 2, args, recorded, name))
        else:
            try:
                find_backend(part)
            except TypeError:
                part = (<Backend>meta.ops).asarray(part, None, meta.device)
                found.append(wrap(part, find_backend(part)))
            else:
                found.append(returned(part, 2, args, recorded, name))
    return tuple(found), kind


def unshared(list box):
    """What a function returned, the only item of `box`: an array or Tensor that anybody else holds as a copy."""
    cdef object raw = box.pop()
    if isinstance(raw, TensorBase):
        return raw.copy() if Py_REFCNT(<PyObject*>raw) > 1 else raw
    cdef Backend backend = registered(type(raw))
    if backend is None or not backend.mutable or not is_held(raw, 1):
        return raw
    return backend.clone(raw, raw)


cdef class ArgumentWatch:
    """ArgumentWatch(items, name, arrays=True)
--

    The arguments of a recorded function of the program's, which it is not to write: Tensors and, with `arrays`, arrays.

    `name` is the function's. With set_constant_check("off") only writes through Tensors are seen.
    """

    def __init__(self, tuple items, str name, bint arrays=True):
        cdef Py_ssize_t i
        self.items = items
        self.name = name
        self.full = constant_check == CONSTANT_FULL
        for i in range(len(items)):
            if isinstance(items[i], TensorBase) or arrays and registered(type(items[i])) is not None:
                self.note(i)

    cdef int note(self, Py_ssize_t i) except -1:
        cdef object item = self.items[i]
        cdef Backend backend
        cdef long version = 0
        if isinstance(item, TensorBase):
            backend = <Backend>(<TensorBase>item).value.meta.ops
            version = version_of((<TensorBase>item).value)
        else:
            backend = registered(type(item))
        if backend.mutable:
            self.places.push_back(i)
            self.versions.push_back(version)
            self.prints.push_back(content_of(item, backend, self.full))
        return 0

    cpdef int check(self, tuple dirty=()) except -1:
        """Raise RuntimeError if one was written that is not among `dirty`."""
        cdef size_t k
        cdef object item
        cdef Backend backend
        cdef bint written, through
        for k in range(self.places.size()):
            item = self.items[self.places[k]]
            for known in dirty:
                if known is item:
                    break
            else:
                if isinstance(item, TensorBase):
                    backend = <Backend>(<TensorBase>item).value.meta.ops
                    through = version_of((<TensorBase>item).value) != self.versions[k]
                else:
                    backend = registered(type(item))
                    through = False
                written = through or content_of(item, backend, self.full) != self.prints[k]
                if not written:
                    continue
                for known in dirty:
                    if backend.shares_memory((<TensorBase>known).value.raw, item_raw(item)):
                        break
                else:
                    if isinstance(item, TensorBase) and not through:
                        mark_overwritten(<TensorBase>item)          # what nodes saved of it is gone
                        bump(<TensorBase>item)
                    raise RuntimeError(
                        f"{self.name} wrote into its argument {self.places[k]}, which other parts of the graph may "
                        f"hold, and the gradient of what it wrote would be lost. Have it write into a copy "
                        f"(x = x.copy()) and return that; a Function may name a Tensor that it writes and returns by "
                        f"ctx.mark_dirty")
        return 0


cdef object item_raw(object item):
    return (<TensorBase>item).value.raw if isinstance(item, TensorBase) else item


cdef uint64_t content_of(object item, Backend backend, bint full) except? 0:
    return 0 if constant_check == CONSTANT_OFF else backend.fingerprint(item_raw(item), full)
