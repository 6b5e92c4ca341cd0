# May cimport: engine.*, core.op.
cimport cython
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector
from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, Guard, OwnedLock
from arraygrad.engine.node cimport Node, NodeHooks
from arraygrad.core.op cimport Op


# What Value.overwritten says. Nobody uses the array of one that is not UNTOUCHED before `is_lost` was asked.
cdef enum Overwritten:
    UNTOUCHED = 0
    WRITTEN = 1                     # set_saved_mutation("error"), or a writer who told afterwards
    FINGERPRINTED = 2               # its memory was given to the program after a node saved it: compare its content
    FINGERPRINTED_FULL = 3                  # the same, all of its content


# What Value.exposed says beside 0, all of which a test of it finds: Note [Who may write this memory] in
# exposed_memory.pyx.
cdef enum Exposed:
    HELD = 1                        # the program may read and write the memory by an array of its own
    LENT = 2                        # it does so by this Tensor: an adopted call put it into the array's places


cdef class Storage:
    """Memory that several Values share (views, detached aliases): one version, and who shares it."""
    cdef long version
    cdef long history               # counts in-place writes that were recorded: older views derive their grad_fn anew
    cdef vector[void*] members      # live Values (borrowed, each takes itself out when it dies)
    cdef size_t watched             # how many of them, the first, may be saved: Note [Watched members]
    # Without the GIL: `guard` guards version and members, `writing` is held while Values are protected and while
    # histories of views change (docs/architecture.md).
    cdef Guard guard
    cdef OwnedLock writing


@cython.final
cdef class Value:
    """One array at one moment. Tensors show it, nodes save it. See Note [Saved values] in value.pyx."""
    cdef object raw
    cdef GradMeta meta
    cdef Storage storage            # None until the memory is shared with another Value
    cdef long version               # used while storage is None
    # One byte each, so that a Value takes no more room than it must.
    cdef unsigned char overwritten  # (Overwritten) of what nodes saved: written afterwards, or perhaps
    cdef unsigned char exposed      # (Exposed) over memory that the program can write unseen
    cdef unsigned char inference    # made in inference mode: never saved, written in that mode only
    cdef unsigned char kept_by_hook     # what its Tensor shows counts as saved: Note [Saved values], 5
    cdef uint32_t place             # in storage.members
    cdef uint64_t print             # FINGERPRINTED: the fingerprint that its content had then
    cdef uint64_t owner             # not 0: entered for this owner (Note [Values over one raw array])
    cdef void* tensor               # the Tensor that shows it (borrowed, cleared when that dies), or NULL; shown_by


cdef class Backend(ArrayOps):
    """ArrayOps of one array library plus what forward operations need of it."""
    cdef readonly object xp             # the library's raw namespace (array-api-compat's where there is one)
    cdef readonly object rule_xp        # raw namespace as rules see it: xp and the table's internal operations
    cdef readonly object graph_xp       # differentiable namespace as rules see it
    cdef readonly object namespace      # the public differentiable namespace module
    cdef readonly object array_type
    cdef readonly bint mutable          # arrays can be written in place and slices are views
    cdef readonly bint scalars          # 0-d results are scalars, which no operator writes: Note [Scalars]
    cdef public bint fuses              # `fused` has kernels: ask it before the rules run
    cdef list functions                 # per Op.index: the raw callable, or None until first use

    cdef object unary(self, Op op, object x, uint32_t* flags)
    cdef object binary(self, Op op, object a, object b, uint32_t* flags)
    cdef object forward(self, Op op, object raws)
    cdef tuple leaving(self, Op op, object raws)
    cdef GradMeta meta_like(self, object raw, GradMeta a, GradMeta b)
    cdef object promoted(self, object raw, GradMeta meta)
    cdef bint on_current_stream(self, GradMeta meta) except -1
    cpdef object fused(self, Op op, object g, unsigned long long wanted, list saved, list statics, list targets,
                       bint absorbs)
    cdef object call(self, Op op, object args)
    cpdef object wrap_raw(self, object result)
    cpdef bint shares_memory(self, object a, object b) except -1
    cpdef bint owns_memory(self, object raw) except -1
    cpdef bint same_layout(self, object grad, object like) except -1
    cpdef object asarray(self, object obj, object dtype, object device)
    cpdef object raw_function(self, Op op)
    cpdef object find_function(self, Op op)
    cpdef object scalar(self, object x)
    cpdef bint plain(self, object raw, Op op=*) except -1
    cpdef bint can_write(self, GradMeta source, GradMeta target) except -1
    cpdef object write(self, object raw, object key, object value)
    cpdef int add_at(self, object raw, object key, object value) except -1
    cpdef object host_device(self, object raw)
    cpdef int check(self, object raw) except -1
    cdef uint64_t fingerprint(self, object raw, bint full) except? 0
    cpdef bint overlaps_itself(self, object raw) except -1
    cpdef str text(self, object raw)


cdef class Extra:
    """Rarely used state of a Tensor."""
    cdef NodeHooks hooks            # hooks of a leaf, shared with its AccumulateGrad
    cdef TensorBase parent              # the Tensor this one is a view of
    cdef Op view_op                 # how: view_op with view_args, of which the first is parent
    cdef tuple view_args
    cdef long seen                  # Storage.history when grad_fn was derived
    cdef str forbidden              # why writes are refused (multi, no_grad, inference, function, held), or None
    cdef object source              # Source of what a function returned (exposed_memory.pyx); None for most
    cdef bint deferred              # made in inference mode: grad_fn is derived where it is first used outside
    cdef dict attributes            # the user's own, None: there are none (attributes.pyx)
    cdef object lock                # held while a gradient is added to the leaf's .grad


cdef class TensorBase:
    cdef Value value
    cdef Node grad_fn_
    cdef object grad_
    cdef int output_nr_
    cdef bint tracked               # requires grad
    cdef bint array0d               # made as an array without axes, not computed: Note [Scalars]
    cdef unsigned char is_grad      # was some Tensor's .grad, and so may be part of a cycle
    cdef unsigned char keyed        # was hashed by its value: Note [Keys that are equal]
    cdef unsigned char python       # is a Python number in a plain call: Note [Python's numbers] in number_kinds.pyx
    cdef void* accumulator          # this leaf's AccumulateGrad (borrowed, cleared when that dies), or NULL
    cdef Extra extra                # None for most
    cdef object __weakref__


cdef extern from "free_threading.hpp" namespace "arraygrad":
    bint has_extra(TensorBase t)
    void set_extra(TensorBase t, PyObject* extra)


cdef extern from "value_memory.hpp" namespace "arraygrad":
    PyTypeObject* tensor_type
    void watch(Value v) noexcept
    bint is_led_to(TensorBase t) noexcept


cdef inline bint is_tensor(object x) noexcept:
    """Whether `x` is a Tensor: isinstance(x, TensorBase) by one comparison."""
    return Py_TYPE(x) is tensor_type


cdef inline Value kept_value(TensorBase t):
    """The Value of a Tensor for whoever keeps it beyond a call: Note [Watched members] in value_memory.hpp."""
    watch(t.value)
    return t.value


cdef inline object raw_now(TensorBase t):
    """The array of `t`, for a view of it: another thread may be writing another view, and protect what nodes saved."""
    return guarded_raw(t) if FREE_THREADED else t.value.raw


cdef inline Value value_now(TensorBase t):
    """What `t` shows, for a view of it: another thread may be writing another view (see raw_now)."""
    return guarded_value(t) if FREE_THREADED else t.value


cdef Backend find_backend(object raw)
cdef Backend registered(object cls)
cdef Value value_over(object raw, GradMeta meta)
cdef TensorBase make_tensor()
cdef TensorBase new_tensor(object raw, GradMeta meta)
cdef TensorBase number_tensor(double x, GradMeta meta)
cdef void drop_dead_tensors() noexcept
cdef TensorBase shown_by(Value v)
cdef bint is_shown(Value v) noexcept
cdef object grad_of(TensorBase t)
cdef Node grad_fn_now(TensorBase t, int* nr)
cdef int set_history(TensorBase t, Node node, int nr) except -1
cdef int set_grad(TensorBase t, object grad) except -1
cdef int note_grad(TensorBase t, TensorBase grad) except -1
cdef bint leads_back(TensorBase leaf) noexcept
cdef int assign_grad(TensorBase t, object value) except -1
cdef TensorBase wrap(object raw, Backend backend)
cdef Extra need_extra(TensorBase t)
cdef Value replaced(TensorBase t, object raw)
cdef object guarded_raw(TensorBase t)
cdef int join(Value v, Value other) except -1
cdef int leave(Value v) except -1
cdef Storage storage_of(Value v)
cdef Storage storage_now(Value v)
cdef Value guarded_value(TensorBase t)
cdef Storage join_base(Value v, TensorBase base, long* history)
cdef long version_of(Value v)
cdef bint refuses_overwriting() noexcept
cdef int check_saved(Value v) except -1
cdef bint is_lost(Value v) except -1
cdef int leave_inference(TensorBase t) except -1
cdef object forbidden_view(TensorBase t, str what)
