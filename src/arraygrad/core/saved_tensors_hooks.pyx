# Saved-tensor hooks: what is done to a value when a node saves it, and when its rule asks for it back.
# May import: engine.*, core.op, core.value.
import weakref

from cpython.object cimport PyObject

from arraygrad.engine.arrayops cimport is_held
from arraygrad.engine.node cimport Frame, Node, ThreadState, set_saved_hooks, share_deallocation, thread_state, track
from arraygrad.engine.streams cimport note_read
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, find_backend, is_lost, join, kept_value, new_tensor, registered, version_of,
    wrap,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)


# Note [Saved-tensor hooks]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# (1) The hooks of a thread are a linked list of HookPairs; ThreadState holds its top, and only the top is used. A level
#     that carries a message instead of hooks says that hooks are disabled.
# (2) They count when a value is saved: the slot then holds a Packed, which keeps the unpack hook, and neither the array
#     nor its Value. So the array is freed, and the hooks may be left before the backward pass.
# (3) A run takes the stack of the thread that started it to every thread that runs its nodes, so operations recorded
#     in backward (create_graph) are treated as those around the call.
# (4) A pack hook that returns the tensor it was given is common (hooks that choose by size). Then the Packed keeps that
#     tensor's Value, so a later in-place write leaves it alone as if there were no hooks (Note [Saved values]).
# (5) Operations ask a static count (saved_variables.pyx) before they look at the thread at all, so hooks cost nothing
#     when none is active anywhere.
# (6) Leaving a block takes the top off the stack of the thread that leaves it, whoever put it there. A run gives its
#     thread the stack back that it found, so hooks that an unpack hook enters, or leaves, matter to the run alone, and
#     a block may be left after the run took its hooks away.
# (7) A pack hook may keep the tensor in what it returns, or a view of it. What they show is `kept_by_hook` (Note
#     [Saved values], 5), so a write by a Tensor leaves the content to them. A write to memory that was given away is
#     found by comparison, as for values that are saved without hooks, where the hook kept the tensor itself.
# (8) It may keep the raw array (`t.numpy()`), which no one can keep from being written. Where the unpack hook gives
#     back the same memory its content is compared with that at packing.
# (9) An unpack hook may give back a buffer of its own each time. What others hold is copied.
# Guarded by test_SV9_* to test_SV15_* and tests/reliability/test_pack_hooks_that_keep.py.
cdef counter _count = NULL


cdef int count_pairs_by(counter count) except -1:
    """Call `count` with 1 for a pair of hooks that is made, with -1 for one that goes (5)."""
    global _count
    _count = count
    return 0


cdef class HookPair:
    def __dealloc__(self):
        if self.counted:
            _count(-1)


cdef class Packed:
    pass


cdef HookPair top(ThreadState* ts):
    return None if ts.saved_hooks == NULL else <HookPair>ts.saved_hooks


cdef bint packing() noexcept:
    """Whether values saved on this thread go through a pack hook."""
    cdef ThreadState* ts = thread_state()
    return ts.saved_hooks != NULL and (<HookPair>ts.saved_hooks).message is None


def push_hooks(tuple hooks):
    """Make (pack, unpack) the thread's saved-tensor hooks, until `pop_hooks`.

    Raises
    ------
    RuntimeError
        If hooks are disabled; the text is the one that was given then.
    """
    cdef ThreadState* ts = thread_state()
    cdef HookPair below = top(ts)
    cdef HookPair pair
    if below is not None and below.message is not None:
        raise RuntimeError(below.message)
    pair = HookPair.__new__(HookPair)
    pair.pack, pair.unpack = hooks
    pair.below = below
    if _count != NULL:
        pair.counted = True
        _count(1)
    set_saved_hooks(ts, pair)


def disable_hooks(str message):
    """Refuse saved-tensor hooks on this thread with `message`, until `pop_hooks`.

    Raises
    ------
    RuntimeError
        With `message`, if hooks are active already.
    """
    cdef ThreadState* ts = thread_state()
    cdef HookPair below = top(ts)
    cdef HookPair pair
    if below is not None and below.message is None:
        raise RuntimeError(message)
    pair = HookPair.__new__(HookPair)
    pair.message = message
    pair.below = below
    set_saved_hooks(ts, pair)


def pop_hooks(_=None):
    """Take the top off this thread's stack of saved-tensor hooks; nothing to do where it is empty (6)."""
    cdef ThreadState* ts = thread_state()
    cdef HookPair pair = top(ts)
    if pair is not None:
        set_saved_hooks(ts, pair.below)


# Packing

cdef object pack_slot(object slot, Backend backend):
    """A saved slot with every array in it packed by the thread's hooks; scalars and metadata stay."""
    cdef Value v
    if type(slot) is Value:
        return pack_value(<Value>slot)
    if type(slot) is list:
        return [pack_slot(item, backend) for item in slot]
    if type(slot) is tuple:
        return tuple([pack_slot(item, backend) for item in slot])
    if type(slot) is backend.array_type:
        v = wrap(slot, backend).value
        return pack_value(v)
    return slot


cdef Packed pack_value(Value v):
    """What the thread's hooks make of one saved value."""
    cdef HookPair pair = <HookPair>thread_state().saved_hooks
    return packed_by(v, pair.pack, pair.unpack)


cdef Packed packed_by(Value v, object pack, object unpack):
    """What one pair of hooks makes of a saved value."""
    cdef ThreadState* ts = thread_state()
    cdef Packed p = Packed.__new__(Packed)
    cdef TensorBase t = new_tensor(v.raw, v.meta)
    cdef long version
    cdef int grad_mode = ts.grad_mode
    cdef object data
    join(t.value, v)
    t.value.kept_by_hook = True
    t.value.exposed = False             # what is exposed was copied before: note what the hook gives away
    version = version_of(v)
    ts.grad_mode = 0
    try:
        data = pack(t)
    finally:
        ts.grad_mode = grad_mode
    if version_of(t.value) != version:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. The tensor that a pack hook is "
                           "given shares memory with the program's own; work on a copy of it.")
    p.unpack = unpack
    p.backend = <Backend>v.meta.ops
    v = kept_value(t)
    p.data = v if data is t else data               # (4)
    if Py_REFCNT(<PyObject*>t) > 1:
        p.kept = v
    if v.exposed or v.overwritten:
        note_given(p, v)
    return p


cdef int note_given(Packed p, Value v) except -1:
    """Remember an array that a pack hook took out of its tensor (8)."""
    cdef object raw = v.raw
    p.given = raw                       # a view's owner may be kept by another view of the same memory
    if getattr(raw, "base", None) is None:
        try:
            p.given = weakref.ref(raw)
        except TypeError:               # arrays of that library can't be referred to weakly
            pass
    p.print = p.backend.fingerprint(v.raw, True)
    return 0


cdef int check_given(Packed p, object raw) except -1:
    """Refuse a raw array that shows memory which was written since it was packed (8)."""
    cdef object given = p.given
    if type(given) is weakref.ReferenceType:
        given = given()
    if given is None or type(raw) is not p.backend.array_type or not p.backend.shares_memory(raw, given):
        return 0
    if p.backend.fingerprint(given, True) != p.print:
        raise overwritten(p)
    return 0


cdef object overwritten(Packed p):
    return RuntimeError("one of the variables needed for gradient computation has been modified by an inplace "
                        f"operation: an array of {p.backend.name} that a saved tensor pack hook kept was written "
                        "before backward. Have the hook keep a copy, t.copy()")


cdef object unpacked(Packed p):
    """What the unpack hook returned, checked: a Tensor or a raw array."""
    cdef object data = p.data
    cdef object raw
    cdef TensorBase t
    cdef Value v = p.kept
    if v is not None and v.overwritten and is_lost(v):
        raise overwritten(p)
    if type(data) is Value:
        v = <Value>data
        if v.overwritten and is_lost(v):
            raise overwritten(p)
        t = new_tensor(v.raw, v.meta)
        join(t.value, v)
        data = t
    data = p.unpack(data)
    if isinstance(data, TensorBase):
        v = (<TensorBase>data).value
        if v.overwritten and is_lost(v):
            raise overwritten(p)
        check_given(p, v.raw)
        raw = v.raw
        if v.exposed and is_held(raw, 2) and not keeps(p, data, raw):
            data = new_tensor(p.backend.clone(raw, raw), v.meta)
        return data
    if registered(type(data)) is not None:
        check_given(p, data)
        if registered(type(data)).mutable and is_held(data, 1) and not keeps(p, data, data):
            data = registered(type(data)).clone(data, data)
        return data
    if hasattr(type(data), "__array_interface__"):
        return p.backend.wrap_raw(data)         # what NumPy's functions make of a 0-d array
    raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(data)}")


cdef bint keeps(Packed p, object data, object raw) except -1:
    """Whether what an unpack hook returned is what its pack hook kept: nobody overwrites that for another value (9)."""
    cdef object given = p.given
    if type(given) is weakref.ReferenceType:
        given = given()
    if given is not None and p.backend.shares_memory(raw, given):
        return True
    if type(p.data) is tuple or type(p.data) is list:
        for kept in p.data:
            if kept is data or kept is raw:
                return True
        return False
    return p.data is data or p.data is raw


cdef Py_ssize_t bytes_of(object saved) except -1:
    """Bytes of the arrays in a saved slot."""
    if type(saved) is Value:
        saved = (<Value>saved).raw
    elif type(saved) is Packed:
        return 0                        # what the hook made of it is the hook's
    elif type(saved) is list or type(saved) is tuple:
        return sum([bytes_of(item) for item in saved])
    nbytes = getattr(saved, "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0


cdef object packed_array(Packed p):
    """The raw array of a packed value."""
    cdef object data = unpacked(p)
    if not isinstance(data, TensorBase):
        return data
    note_read((<TensorBase>data).value.meta, (<TensorBase>data).value.raw)
    return (<TensorBase>data).value.raw


cdef Value packed_value(Packed p):
    """The Value of a packed value, as a node would have saved it."""
    cdef object data = unpacked(p)
    if isinstance(data, TensorBase):
        note_read((<TensorBase>data).value.meta, (<TensorBase>data).value.raw)
        return (<TensorBase>data).value
    return wrap(data, find_backend(data)).value


cdef class InputNode(Node):
    """Where the graph of a second call ends: gives its Tensor a history, so that it may be written in place."""

    cdef int apply(self, Frame f) except -1:
        return 0


share_deallocation(InputNode)


cdef class SavedInput:
    """SavedInput(t, hooks=True)
--

    A Tensor kept as a node would keep it, through the thread's hooks or not: `again()` gives a new one with its value.
    """
    cdef object slot
    cdef bint tracked
    cdef bint is_leaf
    cdef bint array0d

    def __init__(self, TensorBase t, bint hooks=True):
        cdef Value v = kept_value(t)
        self.slot = pack_value(v) if hooks and packing() else v
        self.tracked = t.requires_grad
        self.is_leaf = t.is_leaf
        self.array0d = t.array0d

    def again(self):
        """A new Tensor that shows the value; it requires grad, and is no leaf, if the Tensor did and was none.

        Raises RuntimeError if the value was overwritten and no copy was kept.
        """
        cdef Value v
        cdef TensorBase t
        if type(self.slot) is Packed:
            v = packed_value(<Packed>self.slot)
        else:
            v = <Value>self.slot
            if v.overwritten and is_lost(v):
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an "
                                   f"inplace operation: [{v.meta.dtype} {v.meta.shape_tuple()}], an argument of a "
                                   f"checkpoint, is at version {version_of(v)}; expected version {v.version} instead.")
        note_read(v.meta, v.raw)
        t = new_tensor(v.raw, v.meta)
        join(t.value, v)                # so that f may write it in place and the kept value stays
        t.tracked = self.tracked
        t.array0d = self.array0d
        if self.tracked and not self.is_leaf:
            track(<PyObject*>t)
            t.grad_fn_ = InputNode.__new__(InputNode)
            t.grad_fn_.meta = v.meta
        return t
