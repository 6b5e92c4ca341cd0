# Tensors: values, the nodes of recorded operations, accumulation into leaves, and the path that every operation takes.
# May import: engine.*, op. (ops, backends and namespaces register themselves here.)
import contextlib
import copy as copy_module
import numbers
import threading
import weakref

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from libc.stdint cimport uint32_t, uint64_t, UINT64_MAX
from libcpp.vector cimport vector

from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime, GradMeta
from arraygrad.engine.node cimport (
    Edge, Frame, Node, NodeHooks, ThreadState, thread_state,
    NODE_ACCUMULATE, NODE_FAST, NODE_HAS_PARENT, NODE_REALIFY, NODE_RELEASED, NODE_SAVES,
)
from arraygrad.op cimport (
    Op, PLAN_DEVICE, PLAN_DTYPE, PLAN_G, PLAN_SAVED, PLAN_SHAPE, PLAN_STATIC, PLAN_XP,
    SAVE_ANS, SAVE_INPUT, SAVE_META,
)

from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.engine.engine import set_graph_ops
from arraygrad.engine.node import make_handle

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef str BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)

cdef dict _backends = {}                # array type -> Backend
cdef object _backend_finder = None      # called for a type that is not there yet
cdef dict _ops = {}                     # name -> Op, once the table is installed
cdef bint _copy_saved = True            # set_saved_mutation("copy")
cdef object _ufunc_handler = None
cdef object _function_handler = None


# Backends

cdef class Backend(ArrayOps):
    """Backend(name, xp, array_type, mutable=True, runtime=None)
    --

    One array library: its raw namespace `xp`, the type of its arrays, and how the engine works with them.

    `mutable` says that arrays can be written in place and that slices share memory.
    """

    def __init__(self, str name, xp, array_type, bint mutable=True, DeviceRuntime runtime=None):
        ArrayOps.__init__(self, name, runtime)
        self.xp = xp
        self.array_type = array_type
        self.mutable = mutable
        self.functions = []

    cdef object unary(self, Op op, object x, uint32_t* flags):
        """Compiled forward of a one-array operation, None where there is none for these arrays."""
        return None

    cdef object binary(self, Op op, object a, object b, uint32_t* flags):
        """Compiled forward of a two-array operation, None where there is none for these operands."""
        return None

    cdef GradMeta meta_like(self, object raw, GradMeta a, GradMeta b):
        """Metadata of `raw`: one of a and b if it fits (objects are shared), else a new one."""
        if a is not None and self.matches(a, raw):
            return a
        if b is not None and self.matches(b, raw):
            return b
        return self.meta(raw)

    cpdef object raw_function(self, Op op):
        """The raw function of an operation: called with its parameters, or (forward=...) with xp first."""
        cdef object fn = None
        while len(self.functions) <= op.index:
            self.functions.append(None)
        fn = self.functions[op.index]
        if fn is None:
            if op.entry.forward is not None:
                fn = op.entry.forward
            else:
                owner = getattr(self.xp, op.entry.extension) if op.entry.extension else self.xp
                fn = getattr(owner, op.name)
            self.functions[op.index] = fn
        return fn

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

    cpdef bint same_layout(self, object grad, object like) except -1:
        """Whether `grad` is laid out as a gradient of `like` should be."""
        return True

    cpdef object asarray(self, object obj, object dtype, object device):
        """A raw array from nested lists, scalars or a raw array; copies only if it must."""
        return self.xp.asarray(obj, dtype=dtype, device=device)

    cpdef object scalar(self, object x):
        """A NumPy scalar, fraction or 0-d object as an operand: a Python scalar, which takes the arrays' dtype."""
        return x.item() if hasattr(x, "item") else float(x)

    cpdef bint plain(self, object raw) except -1:
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

    cpdef object host_device(self, object raw):
        """The device object of an array on the host."""
        return getattr(raw, "device", "cpu")

    cpdef int check(self, object raw) except -1:
        """Refuse an array that can't be a Tensor (object dtype, ...), before anything is recorded."""
        return 0

    cpdef object to_user(self, object grad):
        return wrap(grad, self)

    cpdef object from_user(self, object value):
        if isinstance(value, Tensor):
            if (<Tensor>value).value.meta.ops is not self:
                raise TypeError(f"expected a Tensor over {self.name}, but got one over "
                                f"{(<Tensor>value).value.meta.ops.name}")
            return (<Tensor>value).value.raw
        if type(value) is self.array_type:
            return value
        raise TypeError(f"expected a Tensor or an array of {self.name}, but got {type(value).__name__}")


def register_backend(array_type, Backend backend):
    """Serve arrays of `array_type` by `backend`."""
    _backends[array_type] = backend


def set_backend_finder(finder):
    """Call `finder(obj)` for an object whose type no backend is registered for; it returns a Backend or raises."""
    global _backend_finder
    _backend_finder = finder


def set_backend_namespaces(Backend backend, rule_xp, graph_xp, namespace):
    """Set the namespaces that rules see (raw, differentiable) and the public differentiable one."""
    backend.rule_xp = rule_xp
    backend.graph_xp = graph_xp
    backend.namespace = namespace


cdef Backend find_backend(object raw):
    cdef object backend = _backends.get(type(raw))
    if backend is None:
        if _backend_finder is None:
            raise TypeError(f"no backend serves arrays of type {type(raw).__name__}")
        backend = _backend_finder(raw)
        if backend is None:
            raise TypeError(f"no backend serves arrays of type {type(raw).__name__}")
        _backends.setdefault(type(raw), backend)
    return <Backend>backend


def backend_of(obj):
    """The Backend of a raw array or Tensor.

    Raises
    ------
    TypeError
        If no array library that arraygrad knows made it.
    """
    if isinstance(obj, Tensor):
        return (<Tensor>obj).value.meta.ops
    return find_backend(obj)


# Note [Saved values]
# ~~~~~~~~~~~~~~~~~~~
# A node must find, in backward, the content that an array had when it was saved, although the array may be written in
# place in between. PyTorch compares version numbers and refuses; code that was never written for autodiff then fails.
# Here a Tensor shows a Value (array + metadata) and a node saves that Value: one reference.
# (1) Only Tensors and nodes hold Values. So before a write, a Value whose reference count is above what its Tensor
#     accounts for is saved by some node. (A temporary reference makes the count too high: one copy too many, no harm.)
# (2) In that case the Tensor gets a new Value over the same memory, and the old Value a copy of the content: nodes keep
#     what they saved. With set_saved_mutation("error") the old Value is marked overwritten instead, and unpacking it
#     raises PyTorch's version error.
# (3) Views and detached aliases have Values of their own over the same memory. They are members of one Storage, which
#     also holds the version: a write through one protects the saved Values of all.
# Guarded by test_SV1_*, test_VC1_* and the tests of in-place writes.
cdef class Storage:
    def __cinit__(self):
        self.version = 0
        self.history = 0


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Value:
    def __dealloc__(self):
        cdef size_t i
        if self.storage is not None:
            for i in range(self.storage.members.size()):
                if self.storage.members[i] == <void*>self:
                    self.storage.members[i] = self.storage.members.back()
                    self.storage.members.pop_back()
                    break


cdef inline Value new_value(object raw, GradMeta meta):
    cdef Value v = Value.__new__(Value)
    v.raw = raw
    v.meta = meta
    return v


cdef Storage storage_of(Value v):
    """The Value's Storage, made on first use."""
    if v.storage is None:
        v.storage = Storage.__new__(Storage)
        v.storage.version = v.version
        v.storage.members.push_back(<void*>v)
    return v.storage


cdef int join(Value v, Value other) except -1:
    """Note that `v` is over the memory of `other`."""
    cdef Storage s = storage_of(other)
    if v.storage is None:
        v.storage = s
        s.members.push_back(<void*>v)
    return 0


cdef inline long version_of(Value v):
    return v.version if v.storage is None else v.storage.version


cdef int leave(Value v) except -1:
    """Take `v`, whose content is its own now, out of its Storage."""
    cdef size_t i
    cdef Storage s = v.storage
    if s is None:
        return 0
    for i in range(s.members.size()):
        if s.members[i] == <void*>v:
            s.members[i] = s.members.back()
            s.members.pop_back()
            break
    v.version = s.version
    v.storage = None
    return 0


cdef int protect(Value v, object written, Py_ssize_t held) except -1:
    """Before memory of `written` is overwritten: keep what nodes saved in `v` (Note [Saved values], 2)."""
    cdef Backend backend = <Backend>v.meta.ops
    cdef Tensor t
    cdef Value fresh
    if v.tensor != NULL:
        held += 1
    if Py_REFCNT(<PyObject*>v) <= held or v.overwritten:
        return 0
    if v.raw is not written and not backend.shares_memory(v.raw, written):
        return 0
    if v.tensor != NULL:
        t = <Tensor>v.tensor
        fresh = new_value(v.raw, v.meta)
        fresh.version = v.version
        if v.storage is not None or not _copy_saved:
            join(fresh, v)
        fresh.tensor = v.tensor
        v.tensor = NULL
        t.value = fresh
    if _copy_saved:
        v.raw = backend.clone(v.raw, v.raw)
        leave(v)
    else:
        storage_of(v)
        v.version = v.storage.version
        v.overwritten = True
    return 0


cdef int before_write(Tensor t) except -1:
    """Protect every saved Value that shares memory with `t`."""
    cdef Value v = t.value
    cdef Storage s = v.storage
    cdef vector[void*] members
    cdef size_t i
    cdef object written = v.raw
    if s is None:
        protect(v, written, 1)
        return 0
    v = None
    members = s.members                 # protect() changes the list
    for i in range(members.size()):
        v = <Value>members[i]
        protect(v, written, 1)
    return 0


cdef inline int bump(Tensor t) except -1:
    if t.value.storage is None:
        t.value.version += 1
    else:
        t.value.storage.version += 1
    return 0


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


# Nodes

cdef class _Released:
    def __repr__(self):
        return "<released>"


cdef object raw_of(object saved, OpNode node):
    """The raw array in a saved slot."""
    cdef Value v
    if type(saved) is Value:
        v = <Value>saved
        if v.overwritten:
            raise RuntimeError(_overwritten(v, node))
        return v.raw
    if type(saved) is list:
        return [raw_of(item, node) for item in saved]
    return saved


cdef str _overwritten(Value v, OpNode node):
    return (f"one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{v.meta.dtype} {v.meta.shape_tuple()}], saved by {node.name()}, is at version {version_of(v)}; "
            f"expected version {v.version} instead. Hint: set_saved_mutation('copy') keeps a copy of what is "
            f"overwritten, and anomaly detection finds the operation that failed to compute its gradient.")


cdef object saved_slot(OpNode node, Py_ssize_t k):
    """What slot `k` of the node holds, as it was saved."""
    if (<Op>node.op).saves_in_list:
        return None if node.s0 is None else (<list>node.s0)[k]
    if k == 0:
        return node.s0
    if k == 1:
        return node.s1
    return node.s2


cdef object saved_tensor(OpNode node, object saved, Py_ssize_t edge, bint is_ans):
    """The Tensor for a saved slot, attached to the graph as the original was (create_graph)."""
    cdef Value v
    cdef Tensor t
    cdef Node source = None
    cdef int nr = 0
    if type(saved) is list:
        return [saved_tensor(node, item, edge + i, is_ans) for i, item in enumerate(saved)]
    if type(saved) is not Value:
        return saved
    v = <Value>saved
    if v.overwritten:
        raise RuntimeError(_overwritten(v, node))
    if is_ans:
        source = node
        nr = edge
    elif 0 <= edge < node.n_edges:
        source = node.edge_node(edge)
        nr = node.edge_nr(edge)
    if v.tensor != NULL:
        t = <Tensor>v.tensor
        if source is None and not t.requires_grad_:
            return t
        if t.grad_fn_ is source and source is not None and t.output_nr_ == nr:
            return t
        if source is not None and t.grad_fn_ is None and t.accumulator == <void*>source:
            return t
    t = Tensor.__new__(Tensor)
    t.value = v
    if source is not None:
        t.requires_grad_ = True
        t.grad_fn_ = source
        t.output_nr_ = nr
    return t


cdef class OpNode(Node):
    """The node of a recorded operation: runs the compiled rule where there is one, else the table's."""

    cpdef str name(self):
        return (<Op>self.op).node_name

    @property
    def op_name(self):
        """Name of the operation in the table."""
        return (<Op>self.op).name

    @property
    def saved(self):
        """What the rule keeps, by name: Tensors, metadata and static parameters (read-only).

        Raises RuntimeError after the values were freed.
        """
        cdef Op op = <Op>self.op
        cdef Py_ssize_t k, i
        cdef dict found = {}
        if self.flags & NODE_RELEASED:
            raise RuntimeError(BACKWARD_TWICE)
        for k in range(op.n_saves):
            slot = saved_slot(self, k)
            if op.save_kind[k] == SAVE_ANS and op.multi:
                slot = None if slot is None else tuple([saved_tensor(self, v, i, True) for i, v in enumerate(slot)])
            elif op.save_kind[k] != SAVE_META:
                slot = saved_tensor(self, slot, op.inputs.index(op.save_pos[k]) if op.save_kind[k] == SAVE_INPUT
                                    else 0, op.save_kind[k] == SAVE_ANS)
            found[op.saves[k]] = slot
        if self.args is not None:
            for i in op.static_positions:
                found[op.params[i]] = raw_of(self.args[i], self)
        return found

    cdef int release(self) except -1:
        self.s0 = self.s1 = self.s2 = self.args = None
        self.flags = (self.flags | NODE_RELEASED) & ~<uint32_t>NODE_FAST
        return 0

    cdef int apply(self, Frame f) except -1:
        cdef Op op = <Op>self.op
        if self.flags & NODE_RELEASED:
            raise RuntimeError(BACKWARD_TWICE)
        if self.flags & NODE_FAST and op.fast_rule != NULL and f.grad is not None and not f.create_graph:
            if not thread_state().zero_annihilates and op.fast_rule(self, f):
                return 0
        return apply_rules(self, op, f)


cdef int apply_rules(OpNode node, Op op, Frame f) except -1:
    """Run the table's rules for the wanted edges."""
    cdef Backend backend
    cdef GradMeta meta
    cdef Py_ssize_t k, i, n_rules = len(op.inputs)
    cdef list args
    cdef object g, xp, r, slot
    cdef bint conj, wanted
    if op.multi:
        if f.grads is None:
            g = (f.grad,)
        else:
            g = tuple(f.grads)
        for r in g:
            if r is not None:
                break
        else:
            return 0
    else:
        g = f.grad
        if g is None:
            return 0
    meta = node.meta_at(0)
    backend = <Backend>meta.ops
    xp = backend.graph_xp if f.create_graph else backend.rule_xp
    conj = op.holomorphic and any_complex(node)
    if conj:
        g = tuple([None if r is None else xp.conj(r) for r in g]) if op.multi else xp.conj(g)
    for k in range(n_rules):
        if op.sequence >= 0:
            wanted = True
        else:
            wanted = node.edge_node(k) is not None and (f.needs >> (k if k < 63 else 63)) & 1
        if not wanted:
            continue
        args = []
        for what, index in <tuple>op.plans[k]:
            if what == PLAN_G:
                args.append(g)
            elif what == PLAN_XP:
                args.append(xp)
            elif what == PLAN_SAVED:
                args.append(unpack(node, op, index, backend, meta, f.create_graph))
            elif what == PLAN_STATIC:
                slot = node.args[index]
                args.append(saved_tensor(node, slot, -1, False) if f.create_graph else raw_of(slot, node))
            else:
                args.append(metadata(saved_slot(node, index), what, op.save_kind[index] == SAVE_META, meta))
        r = op.rules[k](*args)
        args = None
        if r is None:
            continue
        if op.sequence >= 0:
            if conj:
                r = [None if item is None else xp.conj(item) for item in r]
            f.set_outs(r)
            return 0
        if conj:
            r = xp.conj(r)
        if not f.create_graph and k < 2 and backend.exclusive(r):
            f.out_owned |= <uint32_t>1 << k
        f.set_out(k, r)
    return 0


cdef bint any_complex(OpNode node):
    cdef Py_ssize_t i
    for i in range(node.n_inputs):
        if node.meta_at(i).is_complex:
            return True
    return False


cdef object unpack(OpNode node, Op op, Py_ssize_t k, Backend backend, GradMeta meta, bint graph):
    """The saved value of slot `k` as rules see it: a raw array, or a Tensor with create_graph."""
    cdef object slot = saved_slot(node, k)
    cdef Py_ssize_t edge = 0
    cdef GradMeta m
    if slot is None:
        return None
    if op.save_kind[k] == SAVE_ANS:
        if op.multi:
            if graph:
                return tuple([saved_tensor(node, v, i, True) for i, v in enumerate(slot)])
            return tuple([raw_of(v, node) for v in slot])
        return saved_tensor(node, slot, 0, True) if graph else raw_of(slot, node)
    if type(slot) is not Value and type(slot) is not list and type(slot) is not backend.array_type:
        # A Python scalar: rules get a 0-d array of the dtype it took part with.
        slot = backend.asarray(slot, meta.dtype, meta.device)
    if graph:
        if op.save_kind[k] == SAVE_INPUT:
            edge = op.inputs.index(op.save_pos[k])
        slot = saved_tensor(node, slot, edge, False)
        if type(slot) is list:
            return [wrap(s, backend) if type(s) is backend.array_type else s for s in slot]
        return wrap(slot, backend) if type(slot) is backend.array_type else slot
    return raw_of(slot, node)


cdef object metadata(object slot, int what, bint is_meta, GradMeta result):
    cdef GradMeta m
    if type(slot) is list or type(slot) is tuple:
        return [metadata(item, what, is_meta, result) for item in slot]
    if slot is None:
        return () if what == PLAN_SHAPE else result.dtype if what == PLAN_DTYPE else result.device
    m = <GradMeta?>slot
    if what == PLAN_SHAPE:
        return m.shape_tuple()
    return m.dtype if what == PLAN_DTYPE else m.device


cdef class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to the leaf's `.grad`. See Note [Accumulators]."""

    def __dealloc__(self):
        # The leaf is still alive here (s0 is cleared after this) unless a collection took both.
        if self.s0 is not None and (<Tensor>self.s0).accumulator == <void*>self:
            (<Tensor>self.s0).accumulator = NULL

    @property
    def variable(self):
        """The leaf."""
        return self.s0

    cdef NodeHooks need_hooks(self):
        self.hooks = leaf_hooks(<Tensor>self.s0)
        return self.hooks

    cdef int apply(self, Frame f) except -1:
        cdef Tensor leaf = <Tensor>self.s0
        if f.grad is not None:
            if leaf.grad_fn_ is not None:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            if not leaf.requires_grad_:
                return 0
            if f.create_graph:
                accumulate_recorded(leaf, <Tensor>f.grad)
            else:
                accumulate_raw(self, leaf, f.grad, f.owned)
        if self.hooks is not None and self.hooks.post_accumulate:
            for hook in list(self.hooks.post_accumulate.values()):
                if hook(leaf) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return 0


# Note [Accumulators]
# ~~~~~~~~~~~~~~~~~~~
# The graph owns a leaf's AccumulateGrad, and that owns the leaf; the leaf knows it only by a borrowed pointer, cleared
# when the node dies. So a graph that is dropped is freed at once, without the garbage collector. Hooks of a leaf, and
# hooks put on its AccumulateGrad node, are kept by the leaf: they survive the graph. Guarded by test_AG1_*, test_AG14_*.
cdef AccumulateGrad accumulator_of(Tensor t):
    cdef AccumulateGrad node
    if t.accumulator != NULL:
        return <AccumulateGrad>t.accumulator
    node = AccumulateGrad.__new__(AccumulateGrad)
    node.seq = UINT64_MAX
    node.flags = NODE_ACCUMULATE
    node.meta = t.value.meta
    node.s0 = t
    if t.extra is not None:
        node.hooks = t.extra.hooks
    t.accumulator = <void*>node
    return node


cdef NodeHooks leaf_hooks(Tensor t):
    cdef Extra e = need_extra(t)
    if e.hooks is None:
        e.hooks = NodeHooks.__new__(NodeHooks)
        if t.accumulator != NULL:
            (<AccumulateGrad>t.accumulator).hooks = e.hooks
    return e.hooks


cdef int accumulate_recorded(Tensor leaf, Tensor grad) except -1:
    cdef Tensor old = <Tensor>leaf.grad_
    if old is None:
        # A Tensor that the caller may still hold is not taken as it is.
        leaf.grad_ = unary(<Op>_ops["positive"], grad) if Py_REFCNT(<PyObject*>grad) > 3 else grad
    else:
        leaf.grad_ = binary(<Op>_ops["add"], old, grad)
    return 0


cdef int accumulate_raw(AccumulateGrad node, Tensor leaf, object grad, bint owned) except -1:
    cdef Backend backend = <Backend>leaf.value.meta.ops
    cdef Tensor old
    cdef object result
    if leaf.grad_ is None:
        if not owned or not backend.same_layout(grad, leaf.value.raw):
            grad = backend.clone(grad, leaf.value.raw)
        if leaf.grad_ is None:                  # cloning may have let another thread's backward in
            leaf.grad_ = wrap(grad, backend)
            return 0
    # Adding may release the GIL, and two runs may meet at one leaf: one adds at a time.
    if node.s1 is None:
        node.s1 = leaf_lock(leaf)
    with node.s1:
        old = <Tensor>leaf.grad_
        if old is None:
            leaf.grad_ = wrap(backend.clone(grad, leaf.value.raw), backend)
            return 0
        before_write(old)
        result = backend.add_into(old.value.raw, grad)
        if result is not old.value.raw:
            if backend.mutable and backend.matches(old.value.meta, result):
                old.value.raw[...] = result
            else:
                old.value = replaced(old, result)
        bump(old)
    return 0


cdef object leaf_lock(Tensor leaf):
    # One lock per leaf, whichever AccumulateGrad node it has at the moment.
    cdef Extra e = need_extra(leaf)
    if e.lock is None:
        e.lock = threading.Lock()
    return e.lock


cdef Value replaced(Tensor t, object raw):
    """A new Value in place of the Tensor's, for a backend whose arrays can't be written."""
    cdef Value v = new_value(raw, (<Backend>t.value.meta.ops).meta_like(raw, t.value.meta, None))
    v.version = version_of(t.value)
    t.value.tensor = NULL
    v.tensor = <void*>t
    return v


# Recording

cdef inline Tensor new_tensor(object raw, GradMeta meta):
    cdef Tensor t = Tensor.__new__(Tensor)
    t.value = new_value(raw, meta)
    t.value.tensor = <void*>t
    return t


cdef Tensor wrap(object raw, Backend backend):
    """A Tensor over a raw array, zero-copy."""
    return new_tensor(raw, backend.meta(raw))


cdef inline int connect(OpNode node, Tensor t) except -1:
    """Append the edge to where the Tensor's gradient goes."""
    cdef Node target = None
    cdef int nr = 0
    if t is not None and t.requires_grad_:
        if t.extra is not None:
            refresh(t)
        target = t.grad_fn_
        if target is None:
            target = accumulator_of(t)
        else:
            nr = t.output_nr_
        target.flags |= NODE_HAS_PARENT
        if target.topo >= node.topo:
            node.topo = target.topo + 1
        if not t.value.meta.is_complex and node.meta is not None:
            node.flags |= NODE_REALIFY          # has an effect only where a gradient is complex
    if node.n_edges == 0:
        node.e0 = target
        node.n0 = nr
    elif node.n_edges == 1:
        node.e1 = target
        node.n1 = nr
    else:
        return node.add_edge(target, nr)
    node.n_edges += 1
    return 0


cdef inline object slot_of(object arg):
    """What a node keeps of an argument: a Tensor's Value, anything else as it is."""
    if isinstance(arg, Tensor):
        return (<Tensor>arg).value
    if type(arg) is list or type(arg) is tuple:
        for item in arg:
            if isinstance(item, Tensor):
                return [slot_of(item) for item in arg]
    return arg


cdef object meta_of(object arg, Backend backend):
    if isinstance(arg, Tensor):
        return (<Tensor>arg).value.meta
    if type(arg) is list or type(arg) is tuple:
        return [meta_of(item, backend) for item in arg]
    if type(arg) is backend.array_type:
        return backend.meta(arg)
    return None


cdef int save(OpNode node, Op op, object args, object result, uint64_t needs, Backend backend) except -1:
    """Fill the node's slots with what the rules of the needed inputs ask for."""
    cdef Py_ssize_t k
    cdef object slot
    cdef list slots = None
    cdef bint keeps = False
    if op.saves_in_list:
        slots = [None] * op.n_saves
    for k in range(op.n_saves):
        if not op.save_for[k] & needs:
            continue
        if op.save_kind[k] == SAVE_ANS:
            slot = tuple([(<Tensor>t).value for t in result]) if op.multi else (<Tensor>result).value
            keeps = True
        elif op.save_kind[k] == SAVE_INPUT:
            slot = slot_of(args[op.save_pos[k]])
            keeps = True
        elif op.save_pos[k] < 0:
            slot = tuple([(<Tensor>t).value.meta for t in result]) if op.multi else (<Tensor>result).value.meta
        else:
            slot = meta_of(args[op.save_pos[k]], backend)
        if slots is not None:
            slots[k] = slot
        elif k == 0:
            node.s0 = slot
        elif k == 1:
            node.s1 = slot
        else:
            node.s2 = slot
    if slots is not None:
        node.s0 = slots
    if keeps:
        node.flags |= NODE_SAVES
    return 0


cdef object arg_slot(object arg, Op op, Py_ssize_t i, bint* keeps):
    if isinstance(arg, Tensor):
        keeps[0] = True
        return (<Tensor>arg).value
    return arg


cdef int keep_args(OpNode node, Op op, object args) except -1:
    """Keep the call's static parameters for rules that ask for one; no array that has a slot of its own."""
    cdef Py_ssize_t i
    cdef bint keeps = False
    cdef list kept = [None] * len(args)
    for i in op.static_positions:
        kept[i] = arg_slot(args[i], op, i, &keeps)
    node.args = kept
    if keeps:
        node.flags |= NODE_SAVES
    return 0


# Operations on one and two arrays: the hot path

cdef object unary(Op op, object x):
    cdef Tensor t, out
    cdef Value v
    cdef Backend backend
    cdef object r
    cdef uint32_t flags = 0
    cdef OpNode node
    if not isinstance(x, Tensor):
        x = wrap(x, find_backend(x))
    t = <Tensor>x
    v = t.value
    backend = <Backend>v.meta.ops
    r = backend.unary(op, v.raw, &flags)
    if r is None:
        r = backend.wrap_raw(backend.call(op, (v.raw,)))
    out = new_tensor(r, backend.meta_like(r, v.meta, None))
    if op.may_view:
        note_view(out, t, op, (x,), backend)
    if t.requires_grad_ or t.extra is not None:
        if t.extra is not None:
            refresh(t)
        if t.requires_grad_ and op.differentiable and out.value.meta.is_floating and thread_state().grad_mode:
            node = OpNode.__new__(OpNode)
            node.op = op
            node.meta = out.value.meta
            node.flags = flags
            connect(node, t)
            if op.n_saves:
                save(node, op, (x,), out, 1, backend)
            out.grad_fn_ = node
            out.requires_grad_ = True
    return out


cdef object other_operand(Op op, object x, Backend backend):
    """The raw form of an operand that is no Tensor: scalar or array of the same backend. NotImplemented if neither."""
    if type(x) is backend.array_type:
        return x
    if isinstance(x, (bool, int, float, complex)):
        return x
    if isinstance(x, numbers.Number) or hasattr(type(x), "item") and getattr(x, "ndim", None) == 0:
        return backend.scalar(x)
    if hasattr(type(x), "__array_namespace__") or hasattr(type(x), "__array__") or hasattr(type(x), "__dlpack__"):
        other = find_backend(x)
        if other is backend:
            return x
        raise mixed(op, backend, other)
    return NotImplemented


cdef object mixed(Op op, Backend a, Backend b):
    return TypeError(f"{op.name}: operands on two backends, {a.name} and {b.name}; convert one of them explicitly, "
                     f"e.g. arraygrad.asarray over an array made by the other library")


cdef object binary(Op op, object a, object b):
    cdef Tensor ta = None
    cdef Tensor tb = None
    cdef Tensor out
    cdef GradMeta ma = None
    cdef GradMeta mb = None
    cdef Backend backend
    cdef object ra, rb, r
    cdef uint32_t flags = 0
    cdef uint64_t needs = 0
    cdef OpNode node
    if isinstance(a, Tensor):
        ta = <Tensor>a
        ma = ta.value.meta
        ra = ta.value.raw
        backend = <Backend>ma.ops
        if isinstance(b, Tensor):
            tb = <Tensor>b
            mb = tb.value.meta
            rb = tb.value.raw
            if mb.ops is not backend:
                raise mixed(op, backend, <Backend>mb.ops)
        elif type(b) is float or type(b) is backend.array_type:
            rb = b
        else:
            rb = other_operand(op, b, backend)
            if rb is NotImplemented:
                return NotImplemented
    elif isinstance(b, Tensor):
        tb = <Tensor>b
        mb = tb.value.meta
        rb = tb.value.raw
        backend = <Backend>mb.ops
        if type(a) is float or type(a) is backend.array_type:
            ra = a
        else:
            ra = other_operand(op, a, backend)
            if ra is NotImplemented:
                return NotImplemented
    else:
        return binary_raw(op, a, b)
    r = backend.binary(op, ra, rb, &flags)
    if r is None:
        r = backend.wrap_raw(backend.call(op, (ra, rb)))
    out = new_tensor(r, backend.meta_like(r, ma, mb))
    if ta is not None and ta.extra is not None:
        refresh(ta)
    if tb is not None and tb.extra is not None:
        refresh(tb)
    if ta is not None and ta.requires_grad_:
        needs = 1
    if tb is not None and tb.requires_grad_:
        needs |= 2
    if needs and op.differentiable and out.value.meta.is_floating and thread_state().grad_mode:
        node = OpNode.__new__(OpNode)
        node.op = op
        node.meta = out.value.meta
        node.flags = flags
        connect(node, ta)
        connect(node, tb)
        if op.n_saves:
            save(node, op, (a, b), out, needs, backend)
        out.grad_fn_ = node
        out.requires_grad_ = True
    return out


cdef object binary_raw(Op op, object a, object b):
    """Two operands of which none is a Tensor (namespace functions): the first array is wrapped."""
    if isinstance(a, (bool, int, float, complex)):
        if isinstance(b, (bool, int, float, complex)):
            raise TypeError(f"{op.name}: expected at least one array, but got {type(a).__name__} and "
                            f"{type(b).__name__}")
        return binary(op, a, wrap(b, find_backend(b)))
    return binary(op, wrap(a, find_backend(a)), b)


# Any operation

cdef Backend backend_in(object args, Op op):
    """The backend of the Tensors among the arguments (inside lists and tuples too), None if there are none."""
    cdef Backend found = None
    cdef Backend other
    for arg in args:
        if isinstance(arg, Tensor):
            other = <Backend>(<Tensor>arg).value.meta.ops
        elif type(arg) is tuple or type(arg) is list:
            other = backend_in(arg, op)
        else:
            continue
        if found is None:
            found = other
        elif other is not None and other is not found:
            raise mixed(op, found, other)
    return found


cdef Backend raw_backend_in(object args):
    """The backend of the first raw array among the arguments."""
    cdef Backend found
    for arg in args:
        if type(arg) is tuple or type(arg) is list:
            found = raw_backend_in(arg)
            if found is not None:
                return found
        elif type(arg) in _backends:
            return <Backend>_backends[type(arg)]
        elif hasattr(type(arg), "__array_namespace__") or hasattr(type(arg), "__array_interface__"):
            return find_backend(arg)
    return None


cdef object to_raw(object arg):
    """An argument with every Tensor in it replaced by its raw array."""
    if isinstance(arg, Tensor):
        return (<Tensor>arg).value.raw
    if type(arg) is tuple:
        return tuple([to_raw(item) for item in arg]) if has_tensor(arg) else arg
    if type(arg) is list:
        return [to_raw(item) for item in arg] if has_tensor(arg) else arg
    if type(arg) is slice and (isinstance(arg.start, Tensor) or isinstance(arg.stop, Tensor)
                               or isinstance(arg.step, Tensor)):
        return slice(*[s.__index__() if isinstance(s, Tensor) else s for s in (arg.start, arg.stop, arg.step)])
    return arg


cdef bint has_tensor(object items) except -1:
    for item in items:
        if isinstance(item, Tensor):
            return True
        if (type(item) is tuple or type(item) is list) and has_tensor(item):
            return True
        if type(item) is slice and (isinstance(item.start, Tensor) or isinstance(item.stop, Tensor)):
            return True
    return False


cdef bint wants_grad(object arg) except -1:
    if isinstance(arg, Tensor):
        if (<Tensor>arg).extra is not None:
            refresh(<Tensor>arg)
        return (<Tensor>arg).requires_grad_
    if type(arg) is tuple or type(arg) is list:
        for item in arg:
            if wants_grad(item):
                return True
    return False


cpdef object apply_op(Op op, tuple args, Backend backend=None):
    """Run an operation on its bound parameters and record it.

    Parameters
    ----------
    op : Op
    args : tuple
        Every parameter in order (Op.bind): Tensors, raw arrays, scalars, static parameters.
    backend : Backend, optional
        Where the arguments hold no array (creation functions); taken from the arguments otherwise.

    Returns
    -------
    Tensor, or a (named) tuple of Tensors

    Raises
    ------
    TypeError
        If arrays of two backends meet, or if a Tensor that requires grad stands where the operation has no
        derivative (nothing is dropped silently).
    """
    cdef object result, raw
    if op.n_arrays == 1 and backend is None:
        return unary(op, args[0])
    if op.n_arrays == 2 and backend is None:
        result = binary(op, args[0], args[1])
        if result is NotImplemented:
            raise TypeError(f"{op.name}: expected arrays or scalars, but got {type(args[0]).__name__} and "
                            f"{type(args[1]).__name__}")
        return result
    found = backend_in(args, op)
    if found is None:
        found = backend if backend is not None else raw_backend_in(args)
        if found is None:
            raise TypeError(f"{op.name}: expected at least one array among the arguments")
    elif backend is not None and found is not backend:
        raise mixed(op, <Backend>found, backend)
    return run(op, args, <Backend>found)


cdef object run(Op op, tuple args, Backend backend):
    cdef tuple raws = tuple([to_raw(arg) for arg in args])
    cdef object raw = backend.call(op, raws)
    cdef object result
    raws = None
    if op.multi:
        result = tuple([wrap(backend.wrap_raw(r), backend) for r in raw])
        record(op, args, result, backend)
        if op.may_view and backend.mutable and args and isinstance(args[0], Tensor):
            for out in result:
                note_view(<Tensor>out, <Tensor>args[0], None, None, backend)
        return result if op.result_type is None else op.result_type(*result)
    raw = backend.wrap_raw(raw)
    if type(raw) is not backend.array_type and not isinstance(raw, backend.array_type):
        return raw                      # bool, dtype, tuple of ints, ...: no array
    if args and isinstance(args[0], Tensor):
        result = new_tensor(raw, backend.meta_like(raw, (<Tensor>args[0]).value.meta, None))
        if op.may_view:
            note_view(<Tensor>result, <Tensor>args[0], op, args, backend)
    else:
        result = wrap(raw, backend)
    record(op, args, result, backend)
    return result


cdef int record(Op op, tuple args, object result, Backend backend) except -1:
    """Make the node of an operation that ran, if some input with a rule requires grad."""
    cdef uint64_t needs = 0
    cdef Py_ssize_t k, i
    cdef OpNode node
    cdef Tensor out
    cdef list metas
    cdef bint floating = False
    if not thread_state().grad_mode:
        return 0
    if not op.differentiable:
        if op.kind == "general" and not op.zero:
            for i in range(len(args)):
                if wants_grad(args[i]):
                    raise undifferentiable(op, i)
        return 0
    for k in range(len(op.inputs)):
        if wants_grad(args[op.inputs[k]]):
            needs |= <uint64_t>1 << k
    if op.kind != "zero" and op.kind != "nondifferentiable":
        for i in range(len(args)):
            if i not in op.inputs and wants_grad(args[i]):
                raise undifferentiable(op, i)
    if needs == 0:
        return 0
    if op.multi:
        metas = []
        for out in result:
            metas.append(out.value.meta)
            floating = floating or out.value.meta.is_floating
        if not floating:
            return 0
    elif not (<Tensor>result).value.meta.is_floating:
        return 0
    node = OpNode.__new__(OpNode)
    node.op = op
    if op.multi:
        node.n_inputs = <int>len(metas)
        node.meta = metas[0] if len(metas) == 1 else tuple(metas)
    else:
        node.meta = (<Tensor>result).value.meta
        if backend.plain((<Tensor>result).value.raw):
            node.flags = NODE_FAST
    if op.sequence >= 0:
        connect_all(node, args[op.sequence])
    else:
        for i in op.inputs:
            connect(node, <Tensor>args[i] if isinstance(args[i], Tensor) else None)
    save(node, op, args, result, needs, backend)
    if op.keeps_args:
        keep_args(node, op, args)
    if op.multi:
        for i in range(len(result)):
            out = <Tensor>result[i]
            if out.value.meta.is_floating:
                out.grad_fn_ = node
                out.output_nr_ = <int>i
                out.requires_grad_ = True
    else:
        (<Tensor>result).grad_fn_ = node
        (<Tensor>result).requires_grad_ = True
    return 0


cdef int connect_all(OpNode node, object items) except -1:
    """Edges for a list of arrays; the further ones are built as one tuple."""
    cdef list more = []
    cdef Py_ssize_t i
    cdef OpNode probe = OpNode.__new__(OpNode)
    cdef Tensor t
    probe.meta = node.meta
    for i in range(len(items)):
        t = <Tensor>items[i] if isinstance(items[i], Tensor) else None
        if i < 2:
            connect(node, t)
            continue
        probe.n_edges = 0
        probe.e0 = None
        connect(probe, t)
        more.append(probe.e0)
        more.append(probe.n0)
        node.n_edges += 1
    if more:
        node.more = tuple(more)
    if probe.topo > node.topo:
        node.topo = probe.topo
    node.flags |= probe.flags & NODE_REALIFY
    return 0


cdef object undifferentiable(Op op, Py_ssize_t i):
    return TypeError(f"{op.name}: argument {op.params[i]!r} requires grad, but {op.name} has no derivative with respect "
                     f"to it; pass {op.params[i]}.detach() if its gradient is not wanted")


# Views and in-place writes

cdef Extra need_extra(Tensor t):
    if t.extra is None:
        t.extra = Extra.__new__(Extra)
    return t.extra


cdef int note_view(Tensor out, Tensor base, Op op, tuple args, Backend backend) except -1:
    """If the result shares its memory with the input, remember how it was made from it."""
    cdef Extra e
    if not backend.mutable or not backend.shares_memory(out.value.raw, base.value.raw):
        return 0
    join(out.value, base.value)
    e = need_extra(out)
    e.parent = base
    e.seen = base.value.storage.history
    if op is None:
        e.forbidden = ("This view is the output of a function that returns multiple views. Such functions do not allow "
                       "the output views to be modified inplace. Replace the in-place operation by an out-of-place one.")
    else:
        e.view_op = op
        e.view_args = args[1:]
        if not thread_state().grad_mode:
            e.forbidden = "no_grad"
    return 0


# Note [Views and in-place writes]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A view remembers the Tensor it was made from and the operation. A recorded write through it
# (1) gives the view the history of what was written, then
# (2) gives its parent a new history, ViewWriteBackward: "the old parent with this region replaced by the view", and so
#     on up to the Tensor that is no view. Other views of it are now behind:
# (3) Storage.history counts such writes, and a view whose `seen` is older applies its view operation to its parent's
#     new history before it is used (`refresh`).
# Guarded by test_VW1_* to test_VW3_*.
cdef int refresh(Tensor t) except -1:
    """Derive a view's history anew if its memory was written through another Tensor (3)."""
    cdef Extra e = t.extra
    cdef Storage s
    cdef OpNode node
    if e.parent is None or e.view_op is None:
        return 0
    s = t.value.storage
    if s is None or e.seen == s.history:
        return 0
    e.seen = s.history
    if e.parent.extra is not None:
        refresh(e.parent)
    if not e.parent.requires_grad_ or not t.value.meta.is_floating:
        return 0
    t.grad_fn_ = view_node(t, e)
    t.output_nr_ = 0
    t.requires_grad_ = True
    return 0


cdef OpNode view_node(Tensor t, Extra e):
    cdef OpNode node = OpNode.__new__(OpNode)
    cdef tuple args = (e.parent,) + e.view_args
    cdef Backend backend = <Backend>t.value.meta.ops
    node.op = e.view_op
    node.meta = t.value.meta
    for i in e.view_op.inputs:
        connect(node, <Tensor>args[i] if isinstance(args[i], Tensor) else None)
    save(node, e.view_op, args, t, 1, backend)
    if e.view_op.keeps_args:
        keep_args(node, e.view_op, args)
    return node


cdef class ViewWrite(Node):
    """The old parent (edge 0) with the region of a view replaced by the view's new value (edge 1)."""

    cpdef str name(self):
        return "ViewWriteBackward"

    cdef int apply(self, Frame f) except -1:
        cdef Op op = <Op>self.op
        cdef Backend backend = <Backend>self.meta_at(0).ops
        cdef object region
        if f.grad is None:
            return 0
        if f.create_graph:
            region = apply_op(op, (f.grad, *self.args))
            if self.e0 is not None and f.needs & 1:
                f.out0 = unary_copy(<Tensor>f.grad)
                fill_region(<Tensor>f.out0, op, self.args, backend)
            if self.e1 is not None and f.needs & 2:
                f.out1 = region
            return 0
        if self.e1 is not None and f.needs & 2:
            f.out1 = backend.clone(backend.call(op, (f.grad, *to_raw(self.args))), f.grad)
        if self.e0 is not None and f.needs & 1:
            f.out0 = f.grad if f.owned else backend.clone(f.grad, f.grad)
            backend.call(op, (f.out0, *to_raw(self.args)))[...] = 0
        return 0


cdef Tensor unary_copy(Tensor t):
    return <Tensor>binary(<Op>_ops["multiply"], t, 1.0)


cdef int fill_region(Tensor t, Op op, tuple args, Backend backend) except -1:
    apply_op(op, (t, *args))[...] = 0
    return 0


cdef int adopt(Tensor t, Node node, int nr) except -1:
    """Give `t` a new history after a recorded in-place write, and its parents theirs (2)."""
    cdef Extra e = t.extra
    cdef ViewWrite write
    cdef Tensor parent
    t.grad_fn_ = node
    t.output_nr_ = nr
    t.requires_grad_ = True
    node.flags |= NODE_HAS_PARENT
    if t.value.storage is not None:
        t.value.storage.history += 1
    while e is not None and e.parent is not None:
        e.seen = t.value.storage.history
        parent = e.parent
        write = ViewWrite.__new__(ViewWrite)
        write.op = e.view_op
        write.args = e.view_args
        write.meta = parent.value.meta
        write.add_edge(parent_node(parent), parent.output_nr_)
        write.add_edge(t.grad_fn_, t.output_nr_)
        parent.grad_fn_ = write
        parent.output_nr_ = 0
        parent.requires_grad_ = True
        t = parent
        e = t.extra
    return 0


cdef Node parent_node(Tensor t):
    if not t.requires_grad_:
        return None
    return t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)


cdef int check_inplace(Tensor t, bint recorded, object what) except -1:
    """Refuse an in-place write that has no right gradient, before anything is changed."""
    cdef Extra e
    cdef Tensor root
    if not thread_state().grad_mode:
        return 0
    if t.extra is not None:
        refresh(t)
    if t.requires_grad_ and t.grad_fn_ is None and (t.extra is None or t.extra.parent is None):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    root = t
    while root.extra is not None and root.extra.parent is not None:
        e = root.extra
        if e.forbidden is not None and (recorded or t.requires_grad_ or e.parent.requires_grad_):
            if e.forbidden == "no_grad":
                raise RuntimeError("A view was created in no_grad mode and is being modified inplace with grad mode "
                                   f"enabled. ({what}: make the view with grad mode on, or write under no_grad)")
            raise RuntimeError(e.forbidden)
        root = e.parent
    if root is not t and root.requires_grad_ and root.grad_fn_ is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    return 0


cdef object inplace(Tensor t, Op op, object other):
    """t op= other."""
    cdef Tensor out
    cdef object result
    cdef bint recorded
    recorded = wants_grad(other)
    check_inplace(t, recorded, op.name)
    result = binary(op, t, other)
    if result is NotImplemented:
        return NotImplemented
    out = <Tensor>result
    assign(t, out, op)
    return t


cdef int assign(Tensor t, Tensor out, Op op) except -1:
    """Write the result of an operation into `t`, whose history becomes the result's."""
    cdef Backend backend = <Backend>t.value.meta.ops
    if out.value.meta.shape_tuple() != t.value.meta.shape_tuple():
        raise ValueError(f"{op.name}: in-place result of shape {out.value.meta.shape_tuple()} does not fit the operand "
                         f"of shape {t.value.meta.shape_tuple()}; write t = t op other")
    if out.value.meta.dtype != t.value.meta.dtype:
        if not backend.can_write(out.value.meta, t.value.meta):
            raise TypeError(f"{op.name}: in-place result of dtype {out.value.meta.dtype} can't be written into dtype "
                            f"{t.value.meta.dtype}; write t = t op other")
        out = <Tensor>apply_op(<Op>_ops["astype"], (<Op>_ops["astype"]).bind((out, t.value.meta.dtype), {}))
    if backend.mutable:
        before_write(t)
        t.value.raw[...] = out.value.raw
        bump(t)
    else:
        t.value = replaced(t, out.value.raw)
        t.value.version += 1
    if out.requires_grad_:
        adopt(t, out.grad_fn_, out.output_nr_)
    elif t.requires_grad_ and t.grad_fn_ is not None and thread_state().grad_mode:
        detach_history(t)
    return 0


cdef int detach_history(Tensor t) except -1:
    """Everything in `t` was overwritten by constants: it does not depend on its inputs any more."""
    if t.extra is None or t.extra.parent is None:
        t.grad_fn_ = None
        t.output_nr_ = 0
        t.requires_grad_ = False
        if t.value.storage is not None:
            t.value.storage.history += 1
    return 0


cdef int setitem(Tensor t, object key, object value) except -1:
    """t[key] = value."""
    cdef Op op = <Op>_ops["_setitem"]
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef Backend other
    cdef bint recorded = wants_grad(value)
    cdef object raw_key = to_raw(key)
    cdef object raw_value
    cdef OpNode node = None
    cdef tuple args
    cdef Tensor tv = None
    check_inplace(t, recorded, "setitem")
    if isinstance(value, Tensor):
        tv = <Tensor>value
        if tv.value.meta.ops is not backend:
            raise mixed(op, backend, <Backend>tv.value.meta.ops)
        if recorded and not t.value.meta.is_floating:
            raise TypeError(f"setitem: a value that requires grad can't be written into a tensor of dtype "
                            f"{t.value.meta.dtype}; its gradient would be lost")
        if recorded and tv.value.meta.is_complex and not t.value.meta.is_complex:
            raise TypeError(f"setitem: a complex value can't be written into a tensor of dtype {t.value.meta.dtype}")
    elif (type(value) is list or type(value) is tuple) and has_tensor(value):
        value = asarray(value)
        return setitem(t, key, value)
    raw_value = to_raw(value)
    if wants_grad(key):
        raise TypeError("setitem: the key requires grad, but an index has no derivative; use key.detach()")
    if (recorded or t.requires_grad_) and thread_state().grad_mode:
        node = OpNode.__new__(OpNode)
        node.op = op
        node.meta = t.value.meta
        args = (t, frozen_key(raw_key), value)
        connect(node, t)
        connect(node, tv)
        save(node, op, args, t, 3, backend)
        if op.keeps_args:
            keep_args(node, op, args)
    if backend.mutable:
        if isinstance(value, Tensor) and raw_value is not t.value.raw and backend.shares_memory(raw_value, t.value.raw):
            raw_value = backend.clone(raw_value, raw_value)
        before_write(t)
        backend.write(t.value.raw, raw_key, raw_value)
        bump(t)
    else:
        t.value = replaced(t, backend.write(t.value.raw, raw_key, raw_value))
        t.value.version += 1
    if node is not None:
        adopt(t, node, 0)
    return 0


cdef object frozen_key(object key):
    """A key that does not change when the caller changes its index arrays."""
    if type(key) is tuple:
        return tuple([frozen_key(item) for item in key])
    if type(key) is list:
        return list(key)
    if hasattr(type(key), "__array_namespace__") or hasattr(type(key), "__array_interface__"):
        return copy_module.copy(key)
    return key


# Tensor

cdef class Extra:
    pass


cdef dict _operators = {}
cdef Op ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, POW, MATMUL, NEG, POS, ABS, INVERT
cdef Op AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, EQ, NE, GT, GE, GETITEM


def install_operators(dict ops):
    """Take the operators, and what in-place writes need, from the compiled table (dict name -> Op)."""
    global _ops, ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, POW, MATMUL, NEG, POS, ABS, INVERT
    global AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, EQ, NE, GT, GE, GETITEM
    _ops = ops
    by = {op.entry.operator: op for op in ops.values() if op.entry.operator}
    ADD, SUB, MUL, TRUEDIV = by["add"], by["sub"], by["mul"], by["truediv"]
    FLOORDIV, MOD, POW, MATMUL = by["floordiv"], by["mod"], by["pow"], by["matmul"]
    NEG, POS, ABS, INVERT = by["neg"], by["pos"], by["abs"], by["invert"]
    AND, OR, XOR = by["and"], by["or"], by["xor"]
    LSHIFT, RSHIFT = by["lshift"], by["rshift"]
    LT, LE, EQ, NE, GT, GE = by["lt"], by["le"], by["eq"], by["ne"], by["gt"], by["ge"]
    GETITEM = by["getitem"]


def install_methods(dict methods):
    """Put functions into Tensor as methods (the type is compiled and refuses setattr)."""
    cdef dict namespace = <dict>(<PyTypeObject*>Tensor).tp_dict
    for name, method in methods.items():
        namespace[name] = method
    PyType_Modified(<PyTypeObject*>Tensor)


def set_protocol_handlers(array_ufunc, array_function):
    """Serve NumPy's protocols: array_ufunc(ufunc, method, inputs, kwargs), array_function(func, types, args, kwargs)."""
    global _ufunc_handler, _function_handler
    _ufunc_handler = array_ufunc
    _function_handler = array_function


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* t)


cdef class Tensor:
    """A differentiable view of an array of any Array-API library.

    Made by `arraygrad.asarray` (zero-copy), `arraygrad.tensor` (copies) and by operations on Tensors.
    """

    def __init__(self):
        raise TypeError("Tensor is made by arraygrad.asarray(array) or arraygrad.tensor(data)")

    def __dealloc__(self):
        if self.value is not None and self.value.tensor == <void*>self:
            self.value.tensor = NULL

    # Public API: the array

    @property
    def array(self):
        """The raw array, zero-copy. Writing into it is not recorded."""
        return self.value.raw

    @property
    def dtype(self):
        """The backend's own dtype object."""
        return self.value.meta.dtype

    @property
    def shape(self):
        """Tuple of ints."""
        return self.value.meta.shape_tuple()

    @property
    def ndim(self):
        """Number of axes."""
        return self.value.meta.ndim

    @property
    def size(self):
        """Number of elements."""
        return self.value.meta.size

    @property
    def nbytes(self):
        """Bytes of the elements."""
        return self.value.raw.nbytes

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.value.raw.itemsize

    @property
    def strides(self):
        """Strides of the raw array, in bytes where the backend has them."""
        return self.value.raw.strides

    @property
    def flags(self):
        """Flags of the raw array."""
        return self.value.raw.flags

    @property
    def device(self):
        """The backend's device object of the array."""
        cdef object device = self.value.meta.device
        return device if device is not None else (<Backend>self.value.meta.ops).host_device(self.value.raw)

    @property
    def T(self):
        """The transpose: the standard's for two axes, NumPy's reversal of all axes otherwise."""
        return permute(self, tuple(range(self.value.meta.ndim - 1, -1, -1)))

    @property
    def mT(self):
        """The last two axes exchanged."""
        cdef Op op = <Op>_ops["matrix_transpose"]
        return apply_op(op, op.bind((self,), {}))

    @property
    def real(self):
        """The real part (the Tensor itself where it is real)."""
        return apply_op(<Op>_ops["real"], (self,)) if self.value.meta.is_complex else self

    @property
    def imag(self):
        """The imaginary part."""
        return apply_op(<Op>_ops["imag"], (self,)) if self.value.meta.is_complex else self * 0

    def numpy(self):
        """A numpy.ndarray of the values: detached, on the host, sharing memory where it can."""
        return to_numpy(self.value.raw)

    def item(self):
        """The value of a one-element tensor as a Python scalar."""
        return self.value.raw.item() if hasattr(self.value.raw, "item") else self.numpy().item()

    def tolist(self):
        """The values as nested Python lists."""
        return self.numpy().tolist()

    # Public API: the graph

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded."""
        if self.extra is not None:
            refresh(self)
        return bool(self.requires_grad_)

    @requires_grad.setter
    def requires_grad(self, bint mode):
        set_requires_grad(self, mode, "Only Tensors of floating point and complex dtype can require gradients")

    def requires_grad_(self, bint requires_grad=True):
        """Set `requires_grad` and return the tensor."""
        if requires_grad and self.requires_grad_:
            return self
        set_requires_grad(self, requires_grad, "only Tensors of floating point dtype can require gradients")
        return self

    @property
    def grad_fn(self):
        """The node that computes this tensor's gradient contribution; None for leaves."""
        if self.extra is not None:
            refresh(self)
        return self.grad_fn_

    @property
    def output_nr(self):
        """Which output of `grad_fn`'s operation this tensor is."""
        if self.extra is not None:
            refresh(self)
        return self.output_nr_

    @property
    def is_leaf(self):
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def retains_grad(self):
        """Whether `.grad` of this non-leaf is filled by backward."""
        cdef NodeHooks hooks = None if self.grad_fn is None else self.grad_fn_.hooks
        return bool(hooks is not None and hooks.retains and self.output_nr_ in hooks.retains)

    @property
    def version(self):
        """How often the memory was written in place, through this tensor or one that shares it."""
        return version_of(self.value)

    @property
    def grad(self):
        """The accumulated gradient, a Tensor of this tensor's shape, dtype and device, or None."""
        if self.grad_ is None and self.grad_fn is not None and not self.retains_grad:
            import warnings
            warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                          "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
                          "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                          UserWarning, stacklevel=2)
        return self.grad_

    @grad.setter
    def grad(self, value):
        cdef Tensor g
        if value is None:
            self.grad_ = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type "
                            f"{type(value).__name__}")
        g = <Tensor>value
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if g.value.meta.ops is not self.value.meta.ops:
            raise RuntimeError(f"assigned grad is a Tensor over {g.value.meta.ops.name}, but expected one over "
                               f"{self.value.meta.ops.name}")
        if g.value.meta.dtype != self.value.meta.dtype:
            raise RuntimeError(f"assigned grad has data of a different type: expected {self.value.meta.dtype}, but got "
                               f"{g.value.meta.dtype}")
        if g.value.meta.device_key != self.value.meta.device_key:
            raise RuntimeError(f"assigned grad has data located on a different device: expected {self.device}, but got "
                               f"{g.device}")
        if g.value.meta.shape_tuple() != self.value.meta.shape_tuple():
            raise RuntimeError(f"assigned grad has data of a different size: expected {self.shape}, but got {g.shape}")
        self.grad_ = g

    @grad.deleter
    def grad(self):
        self.grad_ = None

    def detach(self):
        """A Tensor over the same memory, not attached to the graph."""
        cdef Tensor t = new_tensor(self.value.raw, self.value.meta)
        join(t.value, self.value)
        return t

    def detach_(self):
        """Detach this tensor itself from the graph and return it."""
        if self.extra is not None and self.extra.parent is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self.grad_fn_ = None
        self.output_nr_ = 0
        self.requires_grad_ = False
        return self

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute gradients of this tensor and add them to the leaves' `.grad`; see arraygrad.autograd.backward."""
        global _backward
        if _backward is None:
            from arraygrad.autograd import backward as _backward
        _backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self):
        """Keep this non-leaf's gradient in `.grad` when backward passes it (nothing to do on a leaf)."""
        cdef NodeHooks hooks
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn_ is None:
            return
        hooks = self.grad_fn_.need_hooks()
        if hooks.retains is None:
            hooks.retains = {}
        if self.output_nr_ not in hooks.retains:
            hooks.retains[self.output_nr_] = RetainGrad(weakref.ref(self))

    def register_hook(self, hook):
        """Call `hook(grad)` with this tensor's gradient in every backward; what it returns takes its place.

        Returns a handle whose `remove()` takes the hook away. Raises RuntimeError if the tensor doesn't require grad.
        """
        cdef NodeHooks hooks
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn_ is not None:
            return self.grad_fn_.need_hooks().add("tensor_pre", (self.output_nr_, hook))
        return leaf_hooks(self).add("tensor_pre", (0, hook))

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`. Returns a handle."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn_ is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return leaf_hooks(self).add("post_accumulate", hook)

    # Conversions

    def __array_namespace__(self, /, *, api_version=None):
        """The differentiable namespace of this tensor's backend (always the same object)."""
        namespace = (<Backend>self.value.meta.ops).namespace
        if api_version is not None and api_version > namespace.__array_api_version__:
            raise ValueError(f"version {api_version} of the array API is not supported; "
                             f"{namespace.__array_api_version__} is")
        return namespace

    def __array__(self, dtype=None, copy=None):
        refuse_conversion(self, "numpy.asarray")
        array = to_numpy(self.value.raw)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("a copy is needed to convert the dtype, but copy=False was asked for")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        refuse_conversion(self, "from_dlpack")
        kwargs = {}
        if stream is not None:
            kwargs["stream"] = stream
        if max_version is not None:
            kwargs["max_version"] = max_version
        if dl_device is not None:
            kwargs["dl_device"] = dl_device
        if copy is not None:
            kwargs["copy"] = copy
        return self.value.raw.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.value.raw.__dlpack_device__()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _ufunc_handler(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return _function_handler(func, types, args, kwargs)

    def __float__(self):
        return float(one_element(self, "float"))

    def __int__(self):
        return int(one_element(self, "int"))

    def __complex__(self):
        return complex(one_element(self, "complex"))

    def __bool__(self):
        if self.value.meta.size != 1:
            raise ValueError(f"The truth value of an array with {self.value.meta.size} elements is ambiguous. "
                             "Use any(t) or all(t)")
        return bool(self.value.raw)

    def __index__(self):
        raw = self.value.raw
        if self.value.meta.ndim != 0 or self.value.meta.is_floating:
            raise TypeError(f"only a 0-d integer tensor can be an index, but got shape {self.shape} and dtype "
                            f"{self.dtype}")
        return raw.__index__() if hasattr(raw, "__index__") else int(raw)

    def __len__(self):
        if self.value.meta.ndim == 0:
            raise TypeError("len() of unsized object: the tensor is 0-d")
        return self.value.meta.shape_tuple()[0]

    def __iter__(self):
        if self.value.meta.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(len(self))])

    def __contains__(self, item):
        return bool((self.detach() == item).value.raw.any())

    def __repr__(self):
        return representation(self)

    def __str__(self):
        return representation(self)

    def __format__(self, spec):
        if not spec:
            return representation(self)
        return format(one_element(self, "format"), spec)

    def __hash__(self):
        return <Py_ssize_t>(<void*>self) >> 4

    def __copy__(self):
        if self.grad_fn is None:
            return deepcopied(self, {}, False)
        return self.copy()

    def __deepcopy__(self, memo):
        if self.grad_fn is not None:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                               "protocol at the moment. Use t.detach().copy() for a copy of the values.")
        if id(self) in memo:
            return memo[id(self)]
        return deepcopied(self, memo, True)

    def __reduce__(self):
        import warnings
        if self.extra is not None and self.extra.hooks is not None and self.extra.hooks.tensor_pre:
            warnings.warn("backward hooks on a tensor will not be serialized", UserWarning, stacklevel=2)
        return (unpickle, (self.value.raw, bool(self.requires_grad)))

    def copy(self):
        """A recorded copy of the values."""
        return copied(self)

    def astype(self, dtype, *, copy=True):
        """Cast to `dtype`, recorded between floating dtypes."""
        cdef Op op = <Op>_ops["astype"]
        return apply_op(op, op.bind((self, dtype), {"copy": copy}))

    def to_device(self, device, /, *, stream=None):
        """Move to a device of the same backend, recorded: the gradient moves back."""
        cdef Op op = <Op>_ops["_to_device"]
        return apply_op(op, op.bind((self, device), {}))

    # Indexing

    def __getitem__(self, key):
        return apply_op(GETITEM, (self, key))

    def __setitem__(self, key, value):
        setitem(self, key, value)

    # Operators

    def __add__(self, other):
        return binary(ADD, self, other)

    def __radd__(self, other):
        return binary(ADD, other, self)

    def __iadd__(self, other):
        return inplace(self, ADD, other)

    def __sub__(self, other):
        return binary(SUB, self, other)

    def __rsub__(self, other):
        return binary(SUB, other, self)

    def __isub__(self, other):
        return inplace(self, SUB, other)

    def __mul__(self, other):
        return binary(MUL, self, other)

    def __rmul__(self, other):
        return binary(MUL, other, self)

    def __imul__(self, other):
        return inplace(self, MUL, other)

    def __truediv__(self, other):
        return binary(TRUEDIV, self, other)

    def __rtruediv__(self, other):
        return binary(TRUEDIV, other, self)

    def __itruediv__(self, other):
        return inplace(self, TRUEDIV, other)

    def __floordiv__(self, other):
        return binary(FLOORDIV, self, other)

    def __rfloordiv__(self, other):
        return binary(FLOORDIV, other, self)

    def __ifloordiv__(self, other):
        return inplace(self, FLOORDIV, other)

    def __mod__(self, other):
        return binary(MOD, self, other)

    def __rmod__(self, other):
        return binary(MOD, other, self)

    def __imod__(self, other):
        return inplace(self, MOD, other)

    def __pow__(self, other, mod):
        return binary(POW, self, other)

    def __rpow__(self, other, mod):
        return binary(POW, other, self)

    def __ipow__(self, other):
        return inplace(self, POW, other)

    def __matmul__(self, other):
        return binary(MATMUL, self, other)

    def __rmatmul__(self, other):
        return binary(MATMUL, other, self)

    def __imatmul__(self, other):
        return inplace(self, MATMUL, other)

    def __and__(self, other):
        return binary(AND, self, other)

    def __rand__(self, other):
        return binary(AND, other, self)

    def __iand__(self, other):
        return inplace(self, AND, other)

    def __or__(self, other):
        return binary(OR, self, other)

    def __ror__(self, other):
        return binary(OR, other, self)

    def __ior__(self, other):
        return inplace(self, OR, other)

    def __xor__(self, other):
        return binary(XOR, self, other)

    def __rxor__(self, other):
        return binary(XOR, other, self)

    def __ixor__(self, other):
        return inplace(self, XOR, other)

    def __lshift__(self, other):
        return binary(LSHIFT, self, other)

    def __rlshift__(self, other):
        return binary(LSHIFT, other, self)

    def __ilshift__(self, other):
        return inplace(self, LSHIFT, other)

    def __rshift__(self, other):
        return binary(RSHIFT, self, other)

    def __rrshift__(self, other):
        return binary(RSHIFT, other, self)

    def __irshift__(self, other):
        return inplace(self, RSHIFT, other)

    def __neg__(self):
        return unary(NEG, self)

    def __pos__(self):
        return unary(POS, self)

    def __abs__(self):
        return unary(ABS, self)

    def __invert__(self):
        return unary(INVERT, self)

    def __lt__(self, other):
        return binary(LT, self, other)

    def __le__(self, other):
        return binary(LE, self, other)

    def __eq__(self, other):
        return binary(EQ, self, other)

    def __ne__(self, other):
        return binary(NE, self, other)

    def __gt__(self, other):
        return binary(GT, self, other)

    def __ge__(self, other):
        return binary(GE, self, other)


cdef object _backward = None


cdef object permute(Tensor t, tuple axes):
    cdef Op op = <Op>_ops["permute_dims"]
    return apply_op(op, op.bind((t, axes), {}))


cdef Tensor copied(Tensor t):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef Tensor out
    cdef object raw = backend.clone(t.value.raw, t.value.raw)
    out = new_tensor(raw, backend.meta_like(raw, t.value.meta, None))
    record(<Op>_ops["positive"], (t,), out, backend)
    return out


cdef object one_element(Tensor t, str what):
    if t.value.meta.size != 1:
        raise TypeError(f"{what}: only a one-element tensor can be converted to a Python scalar, but got shape {t.shape}")
    return t.item()


cdef object to_numpy(object raw):
    import numpy
    if isinstance(raw, numpy.ndarray):
        return raw
    if hasattr(raw, "get") and type(raw).__module__.partition(".")[0] == "cupy":
        return raw.get()
    try:
        return numpy.asarray(raw)
    except (RuntimeError, TypeError, BufferError):
        return numpy.from_dlpack(raw)


cdef int refuse_conversion(Tensor t, str how) except -1:
    if t.requires_grad:
        raise TypeError(f"{how} of a tensor that requires grad would drop its gradient silently. Use t.numpy() (or "
                        f"t.detach()) for the bare values, t.array for the raw array, or functions of "
                        f"t.__array_namespace__() to stay differentiable")
    return 0


cdef str representation(Tensor t):
    import numpy
    cdef str text
    cdef list parts
    try:
        text = numpy.array2string(to_numpy(t.value.raw), separator=", ", prefix="Tensor(")
    except Exception:
        text = str(t.value.raw)
    parts = [text]
    if t.value.meta.device_key is not None:
        parts.append(f"device={t.value.meta.device}")
    plain = not t.value.meta.is_floating or str(t.value.meta.dtype) in ("float64", "complex128")
    if not plain or t.value.meta.size == 0:
        parts.append(f"dtype={t.value.meta.dtype}")
    if t.grad_fn is not None:
        parts.append(f"grad_fn=<{t.grad_fn_.name()}>")
    elif t.requires_grad_:
        parts.append("requires_grad=True")
    return f"Tensor({', '.join(parts)})"


cdef int set_requires_grad(Tensor t, bint mode, str text) except -1:
    if mode and not t.value.meta.is_floating:
        raise RuntimeError(f"{text}, but got dtype {t.value.meta.dtype}")
    if t.grad_fn is not None:
        if mode:
            return 0
        raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed "
                           "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
    t.requires_grad_ = mode
    return 0


cdef Tensor deepcopied(Tensor t, dict memo, bint deep):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef Tensor out = new_tensor(backend.clone(t.value.raw, t.value.raw), t.value.meta)
    out.requires_grad_ = t.requires_grad_
    memo[id(t)] = out
    if deep and t.grad_ is not None:
        out.grad_ = copy_module.deepcopy(t.grad_ if t.grad_.is_leaf else t.grad_.detach(), memo)
    return out


def unpickle(raw, bint requires_grad):
    """A leaf over an unpickled array."""
    return wrap_raw(raw, requires_grad)


class RetainGrad:
    """The hook behind Tensor.retain_grad: keeps the gradient in `.grad` of a Tensor that it holds weakly."""

    def __init__(self, reference):
        self.reference = reference

    def __call__(self, grad):
        cdef Tensor t = self.reference()
        if t is None:
            return
        if t.grad_ is None:
            t.grad_ = copied(<Tensor>grad)
        else:
            t.grad_ = binary(ADD, t.grad_, grad)


# Making tensors

def wrap_raw(raw, bint requires_grad=False):
    """A Tensor over a raw array, zero-copy."""
    cdef Tensor t = wrap(raw, find_backend(raw))
    if requires_grad:
        set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
    return t


def asarray(obj, *, dtype=None, device=None, copy=None, bint requires_grad=False):
    """Wrap an array in a Tensor without copying it.

    Parameters
    ----------
    obj : array, Tensor, scalar, or nested lists of them
        A Tensor comes back as itself (a change of dtype is a recorded cast, `copy=True` a recorded copy). Python
        scalars and lists become NumPy arrays; lists that hold Tensors are stacked, recorded.
    dtype, device : optional
        Of the result; the backend's own objects.
    copy : bool, optional
        True: always copy. False: never (ValueError if a copy is needed). None: if needed.
    requires_grad : bool
        Whether operations on the result are recorded.

    Raises
    ------
    TypeError
        For what is no array, for object arrays and ragged lists.
    RuntimeError
        If `requires_grad` is asked for integers or booleans.
    """
    cdef Tensor t
    cdef Backend backend
    if isinstance(obj, Tensor):
        t = <Tensor>obj
        backend = <Backend>t.value.meta.ops
        if device is not None and device != t.device:
            if copy is False:
                raise ValueError("asarray: moving to another device needs a copy, but copy=False was asked for")
            t = <Tensor>t.to_device(device)
            copy = None
        if dtype is not None and dtype != t.value.meta.dtype:
            if copy is False:
                raise ValueError(f"asarray: a cast from {t.dtype} to {dtype} needs a copy, but copy=False was asked for")
            t = <Tensor>t.astype(dtype)
            copy = None
        if copy:
            t = copied(t)
        if requires_grad and not t.requires_grad_:
            set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
        return t
    if (type(obj) is list or type(obj) is tuple) and has_tensor(obj):
        return stacked(obj, dtype, device, requires_grad)
    if type(obj) in _backends:
        backend = <Backend>_backends[type(obj)]
    elif obj is None or isinstance(obj, (bool, int, float, complex, list, tuple, numbers.Number)):
        backend = host_backend()
    else:
        backend = find_backend(obj)
    return from_raw(backend, obj, dtype, device, copy, requires_grad)


def tensor(data, *, dtype=None, device=None, copy=True, bint requires_grad=False):
    """A new leaf with a copy of the data. Parameters as for `asarray`; a Tensor is detached first."""
    if isinstance(data, Tensor):
        data = (<Tensor>data).value.raw
    elif (type(data) is list or type(data) is tuple) and has_tensor(data):
        data = asarray(data).detach().array
    return asarray(data, dtype=dtype, device=device, copy=True, requires_grad=requires_grad)


cdef Backend host_backend():
    import numpy
    return find_backend(numpy.empty(0))


cdef object from_raw(Backend backend, object obj, object dtype, object device, object copy, bint requires_grad):
    cdef object raw
    cdef Tensor t
    if type(obj) is backend.array_type and dtype is None and device is None:
        raw = backend.clone(obj, obj) if copy else obj
    else:
        raw = backend.asarray(obj, dtype, device)
        if raw is obj:
            raw = backend.clone(obj, obj) if copy else obj
        elif copy is False:
            raise ValueError(f"asarray: {type(obj).__name__} to an array of {backend.name} needs a copy, but copy=False "
                             "was asked for")
        elif copy and type(obj) is backend.array_type and backend.shares_memory(raw, obj):
            raw = backend.clone(raw, raw)
    backend.check(raw)
    t = wrap(raw, backend)
    if requires_grad:
        set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
    return t


cdef object stacked(object items, object dtype, object device, bint requires_grad):
    """Nested lists that hold Tensors, as one Tensor: stacked level by level, recorded."""
    cdef Op op = <Op>_ops["stack"]
    cdef Backend backend = backend_in(items, op)
    cdef list parts = []
    cdef Tensor first = None
    for item in items:
        if isinstance(item, Tensor):
            parts.append(item)
        elif (type(item) is list or type(item) is tuple) and has_tensor(item):
            parts.append(stacked(item, None, None, False))
        else:
            parts.append(wrap(backend.asarray(item, None, None), backend))
    shapes = {t.shape for t in parts}
    if len(shapes) != 1:
        raise TypeError(f"asarray: a list of arrays must not be ragged, but its elements have the shapes "
                        f"{sorted(shapes)}")
    if len({str(t.dtype) for t in parts}) > 1:
        common = backend.xp.result_type(*[t.array for t in parts])
        parts = [t.astype(common) for t in parts]
    return asarray(apply_op(op, op.bind((parts,), {})), dtype=dtype, device=device, requires_grad=requires_grad)


# Gradients that are recorded themselves

cdef class TensorOps(ArrayOps):
    """ArrayOps of gradients that are Tensors (create_graph): every step is a recorded operation."""

    cpdef GradMeta meta(self, object array):
        return (<Tensor?>array).value.meta

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        cdef GradMeta m
        if not isinstance(grad, Tensor):
            return False
        m = (<Tensor>grad).value.meta
        if m is meta:
            return True
        return (m.ops is meta.ops and m.dtype == meta.dtype and m.device_key == meta.device_key
                and m.shape_tuple() == meta.shape_tuple())

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        cdef Backend backend = <Backend>meta.ops
        cdef Tensor t
        cdef tuple shape, want
        if not isinstance(grad, Tensor):
            if type(grad) is backend.array_type:
                grad = wrap(grad, backend)
            else:
                grad = wrap(backend.asarray(grad, None, meta.device), backend)
        t = <Tensor>grad
        if t.value.meta.ops is not backend:
            raise InvalidGradient(f"expected an array of {backend.name} but got one of {t.value.meta.ops.name}")
        shape, want = t.value.meta.shape_tuple(), meta.shape_tuple()
        if shape != want:
            lead = len(shape) - len(want)
            if lead < 0 or any([b != 1 and a != b for a, b in zip(shape[lead:], want)]):
                raise InvalidGradient(f"got {shape} but expected shape compatible with {want}")
            axes = tuple(range(lead)) + tuple([lead + i for i, (a, b) in enumerate(zip(shape[lead:], want))
                                               if b == 1 and a != 1])
            if axes:
                t = <Tensor>backend.graph_xp.sum(t, axis=axes, keepdims=True)
            if t.value.meta.shape_tuple() != want:
                t = <Tensor>backend.graph_xp.reshape(t, want)
        if t.value.meta.is_complex and not meta.is_complex:
            if not realify:
                raise InvalidGradient(f"got a complex gradient of dtype {t.value.meta.dtype} for a real value of dtype "
                                      f"{meta.dtype}; return its real part")
            t = <Tensor>backend.graph_xp.real(t)
        if t.value.meta.dtype != meta.dtype:
            t = <Tensor>t.astype(meta.dtype)
        if t.value.meta.device_key != meta.device_key:
            if t.value.meta.ndim:
                raise InvalidGradient(f"expected device {meta.device_key or 'cpu'} but got "
                                      f"{t.value.meta.device_key or 'cpu'}")
            t = <Tensor>t.to_device(meta.device if meta.device is not None else backend.host_device(t.value.raw))
        return t

    cpdef object add(self, object a, object b):
        return binary(ADD, a, b)

    cpdef object clone(self, object array, object like):
        return copied(<Tensor>array)

    cpdef bint has_nan(self, object grad) except -1:
        return (<Tensor>grad).value.meta.ops.has_nan((<Tensor>grad).value.raw)

    cpdef object zeros(self, GradMeta meta):
        return wrap(meta.ops.zeros(meta), <Backend>meta.ops)

    cpdef object ones(self, GradMeta meta):
        return wrap(meta.ops.ones(meta), <Backend>meta.ops)

    cpdef object from_user(self, object value):
        if isinstance(value, Tensor):
            return value
        if type(value) in _backends:
            return wrap(value, <Backend>_backends[type(value)])
        raise TypeError(f"expected a Tensor or an array, but got {type(value).__name__}")


set_graph_ops(TensorOps("tensor"))


# For the public interfaces

def gradient_edge(t):
    """(node, input number) that the gradient of a Tensor arrives at; a leaf's accumulator is made if it has none.

    Raises RuntimeError if the Tensor doesn't require grad.
    """
    cdef Tensor x = <Tensor?>t
    if not x.requires_grad:
        raise RuntimeError("cannot get a gradient edge of a Tensor that does not require grad")
    if x.grad_fn_ is not None:
        return x.grad_fn_, x.output_nr_
    return accumulator_of(x), 0


def edge_of(t):
    """As gradient_edge, as an Edge."""
    node, nr = gradient_edge(t)
    return Edge(node, nr)


def is_grad_enabled():
    """Whether operations on this thread are recorded."""
    return thread_state().grad_mode != 0


def set_grad_mode(bint mode):
    """Record operations on this thread or not; returns the previous setting."""
    cdef ThreadState* ts = thread_state()
    previous = ts.grad_mode != 0
    ts.grad_mode = mode
    return previous


def increment_version(t):
    """Note that a Tensor's memory was written by code that arraygrad did not see."""
    before_write(<Tensor?>t)
    bump(<Tensor>t)


def wrap_like(raw, like):
    """A raw array as a Tensor over the same backend as `like` (a Tensor)."""
    cdef Tensor t = <Tensor?>like
    return wrap(raw, <Backend>t.value.meta.ops)


def metadata_of(t):
    """GradMeta of a Tensor."""
    return (<Tensor?>t).value.meta
