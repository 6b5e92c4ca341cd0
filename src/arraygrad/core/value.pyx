# One array library (Backend), one array at one moment (Value), memory that several share (Storage).
# May import: engine.*, core.op.

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint32_t, uint64_t

from arraygrad.engine.arrayops cimport AliasMeta, ArrayOps, DeviceRuntime, GradMeta
from arraygrad.engine.node cimport (
    Node, inference_used, refuse_creation, thread_state, track, track_all, track_graph, track_with, untrack,
)
from arraygrad.engine.free_threading cimport Section, enable_try_incref, try_incref
from arraygrad.engine.streams cimport inherited
from arraygrad.core.op cimport Op

from arraygrad.engine.node import keep_for_ever

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)
    ctypedef void (*destructor)(PyObject*) noexcept
    ctypedef struct TypeObject "PyTypeObject":
        destructor tp_dealloc

cdef extern from "value_memory.hpp" namespace "arraygrad":
    void put_in(Storage s, Value v) noexcept
    void take_out(Storage s, Value v) noexcept
    void hand_on(Value v) noexcept
    void forget_raw(Value v) noexcept
    void free_deep(PyObject* tensor, destructor own, destructor base) noexcept
    void use_tensor_blocks() noexcept
    bint is_tracked(PyObject* o) noexcept

cdef extern from "tensor_freelist.hpp" namespace "arraygrad":
    bint keep_tensor(TensorBase t) noexcept
    PyObject* take_result(double x, GradMeta meta, TensorBase kind) noexcept
    void drop_results(destructor free_tensor, TensorBase kind) noexcept

ctypedef object (*newfunc)(PyTypeObject*, PyObject*, PyObject*)

cdef dict _backends = {}                # array type -> Backend
cdef object _backend_finder = None      # called for a type that is not there yet
cdef bint _copy_saved = True            # set_saved_mutation("copy")
cdef newfunc _new_tensor = NULL         # what makes one
cdef tuple _no_arguments = ()


# Backends

cdef class Backend(ArrayOps):
    """Backend(name, xp, array_type, mutable=True, runtime=None)
--

    One array library: its raw namespace `xp`, the type of its arrays, and how the engine works with them.

    `mutable` says that arrays can be written in place and that slices share memory, `reads_other_devices` that an
    operation takes operands of several devices: gradients are then moved to that of their operand.
    """

    reads_other_devices = False

    def __init__(self, str name, xp, array_type, bint mutable=True, DeviceRuntime runtime=None):
        ArrayOps.__init__(self, name, runtime)
        self.xp = xp
        self.array_type = array_type
        self.mutable = mutable
        self.fuses = False
        self.functions = []

    cdef object unary(self, Op op, object x, uint32_t* flags):
        """Compiled forward of a one-array operation, None where there is none for these arrays."""
        return None

    cdef object binary(self, Op op, object a, object b, uint32_t* flags):
        """Compiled forward of a two-array operation, None where there is none for these operands."""
        return None

    cdef object forward(self, Op op, object raws):
        """Compiled forward of an operation on its raw parameters in order, None where there is none for them."""
        return None

    cdef object promoted(self, object raw, GradMeta meta):
        """A plain array beside a Tensor of `meta`, for an operation that promotes both: itself, or what it becomes."""
        return raw

    cdef tuple leaving(self, Op op, object raws):
        """(the result, what the node keeps behind its parameters) by a compiled forward, None where there is none."""
        return None

    cdef GradMeta meta_like(self, object raw, GradMeta a, GradMeta b):
        """Metadata of `raw`: one of a and b if it fits (objects are shared), else a new one."""
        if a is not None and self.matches(a, raw) and (a.stream is None or self.on_current_stream(a)):
            return a
        if b is not None and self.matches(b, raw) and (b.stream is None or self.on_current_stream(b)):
            return b
        return self.meta(raw)

    cdef bint on_current_stream(self, GradMeta meta) except -1:
        """Whether what is made now is made on the stream of `meta`: a value remembers its own (engine.streams)."""
        cdef object now = self.runtime.current_stream(meta.device_key)
        return type(meta) is not AliasMeta and (now is meta.stream or now == meta.stream)

    cpdef object raw_function(self, Op op):
        """The raw function of an operation: called with its parameters, or (forward=...) with xp first."""
        cdef object fn = None
        with cython.critical_section(self):         # the list grows once
            while len(self.functions) <= op.index:
                self.functions.append(None)
        fn = self.functions[op.index]
        if fn is None:
            fn = self.find_function(op)
            keep_for_ever(fn)
            self.functions[op.index] = fn
        return fn

    cpdef object find_function(self, Op op):
        """What `raw_function` gives, found when it is first asked for."""
        if op.entry.forward is not None:
            return op.entry.forward
        return getattr(getattr(self.xp, op.entry.extension) if op.entry.extension else self.xp, op.name)

    cdef object call(self, Op op, object args):
        """Run the raw operation on raw parameters, given in order."""
        cdef object fn
        cdef Py_ssize_t i
        cdef dict kwargs
        if op.index < len(self.functions) and self.functions[op.index] is not None:
            fn = self.functions[op.index]
        else:
            fn = self.raw_function(op)
        if op.entry.forward is not None:
            return fn(self.rule_xp, *args)
        if op.n_arrays == 1:
            return fn(args[0])
        if op.n_arrays == 2:
            return fn(args[0], args[1])
        kwargs = {}
        for i in range(op.n_positional, len(args)):
            if i != op.var_positional and args[i] is not op.defaults[i]:
                kwargs[op.params[i]] = args[i]
        positional = tuple(args[:op.n_positional])
        if op.var_positional >= 0:
            positional += tuple(args[op.var_positional])
        return fn(*positional, **kwargs)

    cpdef object wrap_raw(self, object result):
        """A raw result as an array of the backend (a scalar as a 0-d array)."""
        return result

    cpdef bint shares_memory(self, object a, object b) except -1:
        """Whether two raw arrays may share memory. Answering True wrongly costs a copy, never a value."""
        return self.mutable

    cpdef bint exclusive(self, object grad) except -1:
        """Whether the caller's variable is the only reference to `grad`, and `grad` owns its memory."""
        return Py_REFCNT(<PyObject*>grad) == 1 and self.owns_memory(grad)

    cpdef bint owns_memory(self, object raw) except -1:
        """Whether a raw array's memory is its own and no other array's: no view, nothing taken from elsewhere."""
        return False

    cpdef object fused(self, Op op, object g, unsigned long long wanted, list saved, list statics, list targets,
                       bint absorbs):
        """What all wanted rules of an operation give, by kernels of the backend's own; None: by the rules.

        Asked where `fuses` is set, in plain backward passes. `g` is the gradient of the result (a tuple of them where
        there are several), bit k of `wanted` says that the rule of op.inputs[k] is wanted, `saved` holds what the node
        saved (arrays, Python scalars, GradMeta; None where no wanted rule asks), `statics` the call's parameters for
        those in op.static_positions, `targets` per rule the GradMeta that its gradient has to match (None: unknown).
        With `absorbs` a gradient that is exactly zero stays zero. Returns a list, one entry per rule: `g` itself, a
        view of it, or a new array that nobody else holds.
        """
        return None

    cpdef bint same_layout(self, object grad, object like) except -1:
        """Whether `grad` is laid out as a gradient of `like` should be."""
        return True

    cpdef object asarray(self, object obj, object dtype, object device):
        """A raw array from nested lists, scalars or a raw array; copies only if it must."""
        return self.xp.asarray(obj, dtype=dtype, device=device)

    cpdef object scalar(self, object x):
        """A NumPy scalar, fraction or 0-d object as an operand: a Python scalar, which takes the arrays' dtype."""
        return x.item() if hasattr(x, "item") else float(x)

    def of_another(self, array):
        """An array of another library as one of this library's, where it may stand beside them; None: it may not."""
        return None

    def takes_lists(self):
        """Whether the library takes lists and other sequences beside an array in an operator, as NumPy does."""
        return False

    cpdef bint plain(self, object raw, Op op=None) except -1:
        """Whether compiled rules may be used for a result of an ordinary call."""
        return False

    cpdef bint can_write(self, GradMeta source, GradMeta target) except -1:
        """Whether values of one dtype can be written in place into the other without losing their kind."""
        if source.is_floating:
            return target.is_complex or target.is_floating and not source.is_complex
        return True

    cpdef object write(self, object raw, object key, object value):
        """raw[key] = value; returns the array that holds the result (another one where arrays are immutable)."""
        raw[key] = value
        return raw

    cpdef int add_at(self, object raw, object key, object value) except -1:
        """Add `value` to raw[key] in place, once for every time an element is named."""
        raise TypeError(f"{self.name}: sums at places are composed")

    cpdef object host_device(self, object raw):
        """The device object of an array on the host."""
        return getattr(raw, "device", "cpu")

    cpdef int check(self, object raw) except -1:
        """Refuse an array that can't be a Tensor (object dtype, ...), before anything is recorded."""
        return 0

    cdef uint64_t fingerprint(self, object raw, bint full) except? 0:
        """A number that changes with the content of `raw`; `full`: with every byte of it, else with a sample."""
        return <uint64_t>(hash(self.content_token(raw)) & 0xFFFFFFFFFFFFFFFF)

    cpdef bint overlaps_itself(self, object raw) except -1:
        """Whether elements of `raw` share memory, so that a write to one changes another."""
        return False

    def content_token(self, raw):
        """Something hashable that changes when `raw` is written in place; 0 where its library does not tell."""
        return 0

    cpdef str text(self, object raw):
        """The values as repr(Tensor) shows them; None: as a NumPy array of them prints."""
        return None

    cpdef object to_user(self, object grad):
        return wrap(grad, self)

    cpdef object from_user(self, object value):
        if isinstance(value, TensorBase):
            if (<TensorBase>value).value.meta.ops is not self:
                raise TypeError(f"expected a Tensor over {self.name}, but got one over "
                                f"{(<TensorBase>value).value.meta.ops.name}")
            return (<TensorBase>value).value.raw
        if type(value) is self.array_type:
            return value
        raise TypeError(f"expected a Tensor or an array of {self.name}, but got {type(value).__name__}")


def register_backend(array_type, Backend backend):
    """Serve arrays of `array_type` by `backend`."""
    keep_for_ever(backend, backend.runtime, backend.functions, backend.xp, array_type)
    _backends[array_type] = backend


def set_backend_finder(finder):
    """Call `finder(obj)` for an object whose type no backend is registered for; it returns a Backend or raises.

    Threads may call it at once for one type: it returns the same Backend to each.
    """
    global _backend_finder
    _backend_finder = finder


def set_backend_namespaces(Backend backend, rule_xp, graph_xp, namespace):
    """Set the namespaces that rules see (raw, differentiable) and the public differentiable one."""
    backend.rule_xp = rule_xp
    backend.graph_xp = graph_xp
    backend.namespace = namespace
    keep_for_ever(rule_xp, graph_xp, namespace)


cdef Backend find_backend(object raw):
    cdef object backend = _backends.get(type(raw))
    if backend is None:
        if _backend_finder is None:
            raise TypeError(f"no backend serves arrays of type {type(raw).__name__}")
        backend = _backend_finder(raw)
        if backend is None:
            raise TypeError(f"no backend serves arrays of type {type(raw).__name__}")
        backend = _backends.setdefault(type(raw), backend)
    return <Backend>backend


def backend_of(obj):
    """The Backend of a raw array or Tensor.

    Raises
    ------
    TypeError
        If no array library that arraygrad knows made it.
    """
    if isinstance(obj, TensorBase):
        return (<TensorBase>obj).value.meta.ops
    return find_backend(obj)


# Note [Saved values]
# ~~~~~~~~~~~~~~~~~~~
# A node must find, in backward, the content that an array had when it was saved, although the array may be written in
# place in between. PyTorch compares version numbers and refuses; code that was never written for autodiff then fails.
# Here a Tensor shows a Value (array + metadata) and a node saves that Value: one reference.
# (1) Only Tensors and nodes hold Values. So before a write, a Value whose reference count is above what its Tensor
#     accounts for is saved by some node. (A temporary reference makes the count too high: one copy too many, no harm.)
#     So that a write need not count all views, who keeps a Value says so: Note [Watched members] in value_memory.hpp.
# (2) In that case the Tensor gets a new Value over the same memory, and the old Value a copy of the content: nodes keep
#     what they saved. With set_saved_mutation("error") the old Value is marked overwritten instead, and unpacking it
#     raises PyTorch's version error.
# (3) Views and detached aliases have Values of their own over the same memory. They are members of one Storage, which
#     also holds the version: a write through one protects the saved Values of all.
# (4) Memory given to the program (t.array, t.numpy(), DLPack) may be written unseen. Its Values are exposed from then:
#     what is saved later is compared (Note [Constants that change]). Those that nodes saved before are put aside as in
#     (2), with a fingerprint in place of the copy: FINGERPRINTED. Who needs their array asks `is_lost` first.
# (5) What a pack hook keeps of its Tensor has Values `kept_by_hook`, to which, and to whose Tensors, a write leaves the
#     copy.
# Guarded by tests/reliability/test_exposed_memory.py, test_SV1_*, test_VC1_* and the tests of in-place writes.
cdef class Storage:
    def __cinit__(self):
        self.version = 0
        self.history = 0


@cython.final
@cython.no_gc
@cython.freelist(8192)
cdef class Value:
    pass


# What Cython makes of __dealloc__ puts the current exception aside and back, a third of what freeing takes. Nothing
# here raises, and nothing adds a reference to what is going.
cdef destructor free_value = (<TypeObject*>Value).tp_dealloc
(<TypeObject*>Value).tp_dealloc = end_value


cdef void end_value(PyObject* v) noexcept:
    """Leave the Storage, and let the backend keep an array that nobody else holds."""
    cdef PyObject* raw = <PyObject*>(<Value>v).raw
    if (<Value>v).owner:
        hand_on(<Value>v)
    if (<Value>v).storage is not None:
        remove((<Value>v).storage, <Value>v)
    if (<Value>v).meta is not None and (<Value>v).meta.ops.recycle != NULL and Py_REFCNT(raw) == 1 and \
            (<Value>v).meta.ops.recycle(raw):
        forget_raw(<Value>v)
    free_value(v)


cdef inline Value new_value(object raw, GradMeta meta):
    cdef Value v = Value.__new__(Value)
    v.raw = raw
    v.meta = meta
    if inference_used:
        v.inference = thread_state().inference != 0
    return v


cdef Value value_over(object raw, GradMeta meta):
    """A new Value, for other modules."""
    return new_value(raw, meta)


cdef Storage storage_of(Value v):
    """The Value's Storage, made on first use."""
    cdef Storage s = storage_now(v)
    cdef Storage made
    if s is None:
        made = Storage.__new__(Storage)
        with cython.critical_section(v):        # one Storage, whichever thread makes the first view
            s = v.storage
            if s is None:
                made.version = v.version
                enable_try_incref(<PyObject*>v)
                put_in(made, v)
                v.storage = made
                s = made
    return s


cdef Storage storage_now(Value v):
    """`v.storage`, which another thread may be setting, or taking from a Value that it protects (`leave`)."""
    cdef Storage s
    cdef Section section
    section.begin(<PyObject*>v)
    s = v.storage
    section.end()
    return s


cdef int join(Value v, Value other) except -1:
    """Note that `v`, which no other thread knows yet, is over the memory of `other`."""
    cdef Storage s = storage_of(other)
    v.exposed = v.exposed or other.exposed
    v.kept_by_hook = v.kept_by_hook or other.kept_by_hook
    if v.meta is not other.meta and v.meta.stream is not None:
        v.meta = inherited(v.meta, other.meta)
    if v.storage is None:
        enable_try_incref(<PyObject*>v)
        v.storage = s
        s.guard.lock()
        put_in(s, v)
        s.guard.unlock()
    return 0


cdef object guarded_raw(TensorBase t):
    """`raw_now` without the GIL."""
    cdef object raw
    cdef Section section
    section.begin(<PyObject*>t)
    raw = t.value.raw
    section.end()
    return raw


cdef Value guarded_value(TensorBase t):
    """`value_now` without the GIL."""
    cdef Value v
    cdef Section section
    section.begin(<PyObject*>t)
    v = t.value
    section.end()
    return v


cdef Storage join_base(Value v, TensorBase base, long* history):
    """Note that `v`, which no other thread knows yet, is over the memory of what `base` shows; returns its Storage.

    `history` is set to how many recorded writes are part of the histories of base and its views by then.
    """
    cdef Storage s
    cdef Value other
    cdef Section section
    cdef bint joined
    while True:
        section.begin(<PyObject*>base)
        other = base.value
        section.end()
        s = storage_of(other)
        s.writing.lock()                # while it is held no Value is replaced
        joined = base.value is other
        if joined:
            join(v, other)
            history[0] = s.history      # under the lock: a write counts itself before all histories have it
        s.writing.unlock()
        if joined:
            return s


cdef long version_of(Value v):
    cdef Storage s = storage_now(v)
    return v.version if s is None else s.version


cdef int remove(Storage s, Value v) noexcept:
    # For __dealloc__ too, so nothing here may add a reference to v, nor to another that may be going.
    s.guard.lock()
    take_out(s, v)
    s.guard.unlock()
    return 0


cdef int leave(Value v) except -1:
    """Take `v`, whose content is its own now, out of its Storage."""
    cdef Storage s = v.storage
    if s is None:
        return 0
    remove(s, v)
    with cython.critical_section(v):    # `s` above keeps the Storage until the section is left
        v.version = s.version
        v.storage = None
    return 0


cdef TensorBase shown_by(Value v):
    """The Tensor that shows `v`, None if there is none or it is about to go (Note [Borrowed pointers])."""
    cdef PyObject* found = NULL
    cdef TensorBase t
    cdef Section section
    section.begin(<PyObject*>v)
    if v.tensor != NULL and try_incref(<PyObject*>v.tensor):
        found = <PyObject*>v.tensor
    section.end()
    if found == NULL:
        return None
    t = <TensorBase>found
    Py_DECREF(t)                        # try_incref() added one
    return t


cdef bint is_shown(Value v) noexcept:
    """Whether a Tensor shows `v`, which may be about to go."""
    cdef bint shown
    cdef Section section
    section.begin(<PyObject*>v)
    shown = v.tensor != NULL
    section.end()
    return shown


cdef bint is_lost(Value v) except -1:
    """Whether the content that a node saved in `v`, which is not UNTOUCHED, is gone."""
    if v.overwritten == WRITTEN:
        return True
    return (<Backend>v.meta.ops).fingerprint(v.raw, v.overwritten == FINGERPRINTED_FULL) != v.print


cdef bint refuses_overwriting() noexcept:
    """Whether set_saved_mutation("error") is in force."""
    return not _copy_saved


cdef int check_saved(Value v) except -1:
    """Refuse to keep an inference tensor's array in a graph."""
    if v.inference:
        raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in "
                           "inference mode in computation tracked by autograd. To work around this, you can make a "
                           "copy (t.copy()) to get a normal tensor and use it in autograd, or use arraygrad.no_grad() "
                           "instead of arraygrad.inference_mode().")
    return 0


cdef int leave_inference(TensorBase t) except -1:
    """Make a tensor that is asked to require grad an ordinary one, in the mode, so that no gradient is lost later."""
    if not thread_state().inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed; make "
                           "a copy (t.copy()) outside of it")
    t.value.inference = False
    return 0


def is_inference(TensorBase t):
    """Whether a Tensor was made in inference mode."""
    return bool(t.value.inference)


def set_saved_mutation(str mode):
    """What an in-place write does to a value that a live node has saved.

    "copy" (the default): the node keeps a copy of what it saved, so the gradient is that of the program as it ran.
    "error": backward through that node raises RuntimeError, as in PyTorch. Returns the previous mode.

    Raises
    ------
    ValueError
        If `mode` is neither.
    """
    global _copy_saved
    if mode not in ("copy", "error"):
        raise ValueError(f"set_saved_mutation: expected 'copy' or 'error', but got {mode!r}")
    previous = "copy" if _copy_saved else "error"
    _copy_saved = mode == "copy"
    return previous


# Tensors as the modules below the Tensor class see them

@cython.trashcan(True)
@cython.freelist(128)
cdef class Extra:
    pass


@cython.trashcan(True)
@cython.freelist(512)
cdef class TensorBase:
    """The state of a Tensor; its public face is `core.tensor.Tensor`."""


cdef destructor free_tensor = (<TypeObject*>TensorBase).tp_dealloc


cdef void end_tensor(PyObject* t) noexcept:
    """Let the Value forget the Tensor that shows it. As Tensor's, too, which adds nothing: see end_value."""
    cdef PyObject* v = <PyObject*>(<TensorBase>t).value
    cdef Section section
    if keep_tensor(<TensorBase>t):
        return
    if v != <PyObject*>None and (<Value>v).tensor == <void*>t:
        section.begin(v)                # another thread may be following the pointer: shown_by
        (<Value>v).tensor = NULL
        section.end()
    if (<TensorBase>t).grad_ is None and (<TensorBase>t).extra is None:
        free_tensor(t)
    else:
        free_deep(t, end_tensor, free_tensor)


def set_tensor_type(type cls):
    """Make new tensors instances of `cls`, which adds no state to TensorBase; nobody else makes any."""
    global tensor_type, _new_tensor
    tensor_type = <PyTypeObject*>cls
    _new_tensor = <newfunc>tensor_type.tp_new
    use_tensor_blocks()
    (<TypeObject*>TensorBase).tp_dealloc = (<TypeObject*>cls).tp_dealloc = end_tensor
    refuse_creation(cls)


cdef TensorBase make_tensor():
    cdef TensorBase t = <TensorBase>_new_tensor(tensor_type, <PyObject*>_no_arguments, NULL)
    untrack(<PyObject*>t)
    return t


cdef Backend registered(object cls):
    """The backend of an array type, None if none is registered yet."""
    return <Backend>_backends.get(cls)


cdef TensorBase new_tensor(object raw, GradMeta meta):
    cdef TensorBase t = make_tensor()
    t.value = new_value(raw, meta)
    t.value.tensor = <void*>t
    enable_try_incref(<PyObject*>t)
    return t


cdef TensorBase number_tensor(double x, GradMeta meta):
    """A Tensor over one number of double precision, of whose metadata `meta` is: Note [Free list of Tensors]."""
    cdef PyObject* kept = take_result(x, meta, None)
    cdef TensorBase t
    if kept == NULL:
        return new_tensor(meta.ops.number(x), meta)
    t = <TensorBase>kept
    Py_DECREF(t)                        # the reference that it had
    return t


cdef void drop_dead_tensors() noexcept:
    """Free the Tensors that are kept for number_tensor."""
    drop_results(free_tensor, None)


cdef TensorBase wrap(object raw, Backend backend):
    """A Tensor over a raw array, zero-copy."""
    return new_tensor(raw, backend.meta(raw))


cdef object grad_of(TensorBase t):
    """`t.grad_`, which another thread may be setting."""
    cdef object grad
    cdef Section section
    section.begin(<PyObject*>t)
    grad = t.grad_
    section.end()
    return grad


cdef Node grad_fn_now(TensorBase t, int* nr):
    """`t.grad_fn_` and `t.output_nr_`: another thread may be giving `t` the history of a write through a view of it."""
    cdef Node node
    cdef Section section
    section.begin(<PyObject*>t)
    node = t.grad_fn_
    nr[0] = t.output_nr_
    section.end()
    return node


cdef int set_history(TensorBase t, Node node, int nr) except -1:
    """From now on `t` is output `nr` of `node`; None: it is not recorded any more."""
    if node is not None and t.grad_fn_ is None and (t.is_grad or t.accumulator != NULL):
        note_graph(t, node)
    track_with(<PyObject*>t, <PyObject*>node)
    with cython.critical_section(t):
        t.grad_fn_, node = node, t.grad_fn_     # the old history goes when the section is left
        t.output_nr_ = nr
        t.tracked = t.grad_fn_ is not None
    return 0


cdef int set_grad(TensorBase t, object grad) except -1:
    """Set `t.grad_`, which another thread may be reading."""
    if grad is not None:
        note_grad(t, <TensorBase>grad)
    with cython.critical_section(t):
        t.grad_, grad = grad, t.grad_   # the old gradient goes when the section is left
    return 0


cdef int note_grad(TensorBase t, TensorBase grad) except -1:
    """Note that `grad` becomes the `.grad` of `t`: the graph that it leads to may lead back to `t`."""
    grad.is_grad = True
    track(<PyObject*>t)
    if grad.extra is not None or grad.grad_ is not None:
        track_all()
    elif grad.grad_fn_ is not None:
        track(<PyObject*>grad)
        note_graph(t, grad.grad_fn_)
    return 0


cdef int note_graph(TensorBase t, Node node) except -1:
    """Note that `t` leads to `node` from now on, which may lead back to `t` or to something of the program's."""
    if is_led_to(t) and is_tracked(<PyObject*>node):
        track_all()
    else:
        track_graph(node)
    return 0


cdef bint leads_back(TensorBase leaf) noexcept:
    """Whether a leaf holds what may lead back to it: a hook, an attribute, a `.grad` with a history."""
    cdef Extra e = leaf.extra
    cdef TensorBase grad
    if e is not None and (e.hooks is not None or e.attributes is not None or e.parent is not None
                          or e.source is not None):
        return True
    if leaf.grad_ is None:
        return False
    grad = <TensorBase>leaf.grad_
    return grad.grad_fn_ is not None or grad.extra is not None or grad.grad_ is not None


cdef int assign_grad(TensorBase t, object value) except -1:
    """`t.grad = value`, checked: a gradient looks like its Tensor."""
    cdef GradMeta own = t.value.meta
    cdef GradMeta meta
    if value is None:
        return set_grad(t, None)
    if not isinstance(value, TensorBase):
        way = "assign arraygrad.asarray(value)"
        if isinstance(value, (int, float)):
            way = "t.grad = None stands for no gradient, arraygrad.full_like(t, value) for a number in each place"
        raise TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                        f"{type(value).__name__}: {way}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    meta = (<TensorBase>value).value.meta
    if meta.ops is not own.ops:
        raise RuntimeError(f"assigned grad is a Tensor over {meta.ops.name}, but expected one over {own.ops.name}")
    if meta.dtype != own.dtype:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{meta.dtype}' to a tensor with dtype "
                           f"'{own.dtype}'. Cast it with astype first")
    if meta.device_key != own.device_key:
        raise RuntimeError(f"attempting to assign a gradient with device '{value.device}' to a tensor with device "
                           f"'{t.device}'. Please ensure that the gradient and the tensor are on the same device")
    if meta.shape_tuple() != own.shape_tuple():
        raise RuntimeError(f"attempting to assign a gradient of size '{meta.shape_tuple()}' to a tensor of size "
                           f"'{own.shape_tuple()}'. Please ensure that the gradient and the tensor are the same size")
    return set_grad(t, value)


cdef Extra need_extra(TensorBase t):
    cdef Extra e
    if not has_extra(t):
        e = Extra.__new__(Extra)
        with cython.critical_section(t):
            track(<PyObject*>t)
            if t.extra is None:         # making it may have collected garbage, and so have let another thread in
                set_extra(t, <PyObject*>e)
    return t.extra


cdef object forbidden_view(TensorBase t, str what):
    """The error for a write that concerns a view of which `what` is said ("is being", ...)."""
    cdef str kind = t.extra.forbidden
    cdef str name = "a recorded operation" if t.grad_fn_ is None else t.grad_fn_.name()
    if t.extra.deferred and kind == "multi":
        return RuntimeError("One of several views of a tensor that requires grad was made in inference mode and is "
                            "used outside of it, where its gradient would be lost. Make the views outside of the "
                            "mode, or use detach() where constants are meant.")
    if kind == "no_grad":
        return RuntimeError(f"A view was created in no_grad mode {what} modified inplace with grad mode enabled. "
                            "Whether the write is to be recorded is not clear: make the view and write with grad mode "
                            "on, or do both under no_grad().")
    if kind == "inference":
        return RuntimeError(f"A view was created in inference mode {what} modified inplace in normal mode. Make the "
                            "view and write into it both inside inference_mode, or both outside.")
    if kind == "multi":
        return RuntimeError(f"Output {t.output_nr_} of {name} is a view {what} modified inplace. This view is the "
                            "output of a function that returns multiple views. Such functions do not allow the output "
                            "views to be modified inplace. Replace the in-place operation by an out-of-place one.")
    if kind == "held":
        return RuntimeError(f"Output {t.output_nr_} of {name} is being modified inplace, but the function returned "
                            "memory that the program holds too (a buffer, a cache), where the write would have to show "
                            "as well. Copy the result first, or have the function return a new array.")
    return RuntimeError(f"Output {t.output_nr_} of {name} is a view {what} modified inplace. This view was created "
                        "inside a custom Function (or because an input was returned as-is): its gradient is the "
                        "Function's own backward, which the in-place write would bypass. Copy the Function's output "
                        "first.")


cdef Value replaced(TensorBase t, object raw):
    """A new Value in place of the Tensor's, for a backend whose arrays can't be written."""
    cdef Value v = new_value(raw, (<Backend>t.value.meta.ops).meta_like(raw, t.value.meta, None))
    v.version = version_of(t.value)
    v.inference = t.value.inference
    t.value.tensor = NULL
    v.tensor = <void*>t
    return v
