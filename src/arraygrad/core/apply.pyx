# The path that every operation takes: unwrap, run, wrap, record. Views are noted here too.
# May import: engine.*, core.op, core.value, core.saved_tensors_hooks, core.operands, core.arguments, core.decisions,
# core.accumulators, core.nodes, core.saved_variables, core.number_ops.
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport atomic, memory_order_relaxed as relaxed

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, has_bit, set_bit
from arraygrad.engine.node cimport (
    Node, NodeHooks, ThreadState, thread_state, NODE_ASIDE, NODE_FAST, NODE_HAS_PARENT, NODE_NUMBER, NODE_REALIFY,
)
from arraygrad.core.arguments cimport all_static, backend_in, is_static, raw_arguments, raw_backend_in
from arraygrad.core.decisions cimport decided, ordered
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.nodes cimport OpNode, attach, finish, new_op_node
from arraygrad.core.number_kinds cimport beside_narrow
from arraygrad.core.number_ops cimport as_float, number_operation
from arraygrad.core.op cimport Op, named_op, result_type_of
from arraygrad.core.operands cimport (
    check_operand, is_like_scalar, nested, of_one_library, other_operand, rebinds, strange_operand,
)
from arraygrad.core.saved_variables cimport keep_args, keep_aside, keep_behind, save, save_plain
from arraygrad.core.value cimport (
    Backend, Extra, Storage, TensorBase, Value, find_backend, forbidden_view, grad_fn_now, has_extra, is_tensor,
    join_base, need_extra, new_tensor, raw_now, set_history, storage_now, tensor_type, value_now, wrap,
)
from arraygrad.core.written_scalars cimport ITEMS_WRITTEN, let_items_be_written
from arraygrad.core.arguments import several
from arraygrad.core.operands import of_the_library

cdef extern from "Python.h":
    PyTypeObject* type_of "Py_TYPE"(PyObject* o) noexcept

# How many op hooks are active in the process: a static to look at is all that they cost while there are none.
cdef atomic[int] _observers


cdef inline bint is_observed() noexcept:
    """Whether this thread's operations are observed: by hooks around operations."""
    return _observers.load(relaxed) != 0 and thread_state().op_hooks != NULL


cdef object _several = several
cdef PyObject* _sign = NULL             # operations that have a slope, and decide as comparisons do: decisions.pyx
cdef PyObject* _copysign = NULL


def note_signs(Op sign, Op copysign):
    """Have results of these operations noted as decisions."""
    global _sign, _copysign
    _sign, _copysign = <PyObject*>sign, <PyObject*>copysign


def push_op_hooks(tuple pair):
    """Call (before, after) around this thread's operations, within the pairs that are there; returns those."""
    cdef ThreadState* ts = thread_state()
    outer = () if ts.op_hooks == NULL else <object>ts.op_hooks
    _observers.fetch_add(1)
    set_op_hooks(outer + (pair,))
    return outer


def pop_op_hooks(tuple outer):
    """Go back to the pairs that `push_op_hooks` returned."""
    _observers.fetch_add(-1)
    set_op_hooks(outer or None)


cdef inline Node target_of(OpNode node, TensorBase t, int* nr):
    """Where the Tensor's gradient goes from `node`, at input `nr`; None: nowhere."""
    cdef Node target
    nr[0] = 0
    if t is None or not t.tracked:
        return None
    if has_extra(t):
        refresh(t)
    if FREE_THREADED:
        target = grad_fn_now(t, nr)
    else:
        target = t.grad_fn_
        nr[0] = t.output_nr_
    if target is None:
        target = accumulator_of(t)
        nr[0] = 0
    if not has_bit(&target.flags, NODE_HAS_PARENT):         # threads may share the target: write no more than needed
        set_bit(&target.flags, NODE_HAS_PARENT)
    if target.topo >= node.topo:
        node.topo = target.topo + 1
    if not t.value.meta.is_complex and node.meta is not None:
        node.flags |= NODE_REALIFY              # has an effect only where a gradient is complex
    return target


cdef int connect(OpNode node, TensorBase t) except -1:
    """Append the edge to where the Tensor's gradient goes."""
    cdef int nr = 0
    cdef Node target = target_of(node, t, &nr)
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


cdef inline OpNode begun(Op op, object a, object b, TensorBase out, uint64_t needs, uint32_t flags, Backend backend):
    """The node of an operation on one array or two, `a` and `b`."""
    cdef OpNode node = new_op_node(op, out.value.meta, flags)
    connect(node, <TensorBase>a if is_tensor(a) else None)
    if op.n_arrays == 2:
        connect(node, <TensorBase>b if is_tensor(b) else None)
    if op.n_saves:
        save_plain(node, op, a, b, out, needs, backend)
    return node


cdef inline bint may_be_number(PyObject* x) noexcept:
    """Whether to look at an operand as a number (Note [Operations on numbers]): told in a few instructions."""
    return not FREE_THREADED and (type_of(x) != tensor_type or not (<TensorBase>x).value.meta.ndim)


# Operations on one and two arrays: the hot path

cdef object unary(Op op, object x):
    cdef TensorBase out
    if op.number_value != NULL and may_be_number(<PyObject*>x) and not _observers.load(relaxed):
        out = number_operation(op, <PyObject*>x, NULL)
        if out is not None:
            if <PyObject*>op == _sign and out.tracked:
                decided(op, x, None, out)
            return out
    return unary_of_any(op, x)


cdef object unary_of_any(Op op, object x):
    cdef TensorBase out
    cdef Value v
    cdef PyObject* ops                  # of the library, borrowed: it lives as long as the process
    cdef object raw, r
    cdef tuple both
    cdef uint32_t flags = 0
    cdef OpNode node
    if is_observed():
        return observed(op, (x,), None)
    if not is_tensor(x):
        return unary_of_raw(op, x)
    v = value_now(<TensorBase>x)
    ops = <PyObject*>v.meta.ops
    if op.leaves and (<TensorBase>x).tracked and thread_state().grad_mode:
        flags = NODE_ASIDE
    raw = raw_now(<TensorBase>x) if op.may_view else v.raw
    r = (<Backend>ops).unary(op, raw, &flags)
    if r is None:
        flags &= ~<uint32_t>NODE_ASIDE
        r = (<Backend>ops).wrap_raw((<Backend>ops).call(op, (raw,)))
    elif flags & NODE_ASIDE:
        both = <tuple>r
        r = both[0]
    out = new_tensor(r, (<Backend>ops).meta_like(r, v.meta, None))
    if (<TensorBase>x).array0d == ITEMS_WRITTEN:
        let_items_be_written(out)
    if op.may_view:
        note_view(out, <TensorBase>x, op, (x,), <Backend>ops)
    if (<TensorBase>x).tracked or has_extra(<TensorBase>x):
        if has_extra(<TensorBase>x):
            refresh(<TensorBase>x)
        if (<TensorBase>x).tracked and op.differentiable and out.value.meta.is_floating and thread_state().grad_mode:
            node = begun(op, x, None, out, 1, flags, <Backend>ops)
            if flags & NODE_ASIDE:
                keep_aside(node, both[1])
            attach(out, node)
        if (<TensorBase>x).tracked and (<PyObject*>op == _sign or not op.differentiable):
            decided(op, x, None, out)
    return out


cdef object unary_of_raw(Op op, object x):
    """An array of the program's as operand."""
    cdef TensorBase t = wrap(x, find_backend(x))
    t.value.exposed = True
    return unary_of_any(op, t)


cdef inline bint is_tracked(object x) noexcept:
    return is_tensor(x) and (<TensorBase>x).tracked


cdef object binary(Op op, object a, object b):
    cdef TensorBase out
    if op.number_value != NULL and may_be_number(<PyObject*>a) and may_be_number(<PyObject*>b) and not _observers.load(
            relaxed):
        out = number_operation(op, <PyObject*>a, <PyObject*>b)
        if out is not None:
            if <PyObject*>op == _copysign and is_tracked(b):
                decided(op, b, None, out)
            return out
    return binary_of_any(op, a, b)


cdef object binary_of_any(Op op, object a, object b):
    cdef bint of_a = is_tensor(a), of_b = is_tensor(b)
    cdef TensorBase out
    cdef GradMeta ma, mb
    cdef PyObject* ops                  # of the library, borrowed: it lives as long as the process
    cdef tuple pair
    cdef object ra, rb, r
    cdef uint32_t flags = 0
    cdef uint64_t needs
    if is_observed():
        return observed(op, (a, b), None)
    if of_a and (<TensorBase>a).python or of_b and (<TensorBase>b).python:
        pair = beside_narrow(a, b)
        if pair is not None:
            return binary_of_any(op, pair[0], pair[1])
    if of_a:
        ma = (<TensorBase>a).value.meta
        ra = (<TensorBase>a).value.raw
        ops = <PyObject*>ma.ops
        if of_b:
            mb = (<TensorBase>b).value.meta
            rb = (<TensorBase>b).value.raw
            if <PyObject*>mb.ops != ops:
                pair = of_one_library(op, <TensorBase>a, <TensorBase>b)
                return binary(op, pair[0], pair[1])
        else:
            mb = None
            if type(b) is float:
                rb = b
            elif type(b) is (<Backend>ops).array_type:
                if op.promotes and (<TensorBase>a).tracked:
                    b = (<Backend>ops).promoted(b, ma)
                rb = b
            else:
                rb = as_float(op, b, ma, True)
                if rb is not None:
                    b = rb
                else:
                    rb = other_operand(op, b, <Backend>ops)
                if rb is NotImplemented:
                    return strange(op, a, b, <TensorBase>a, False)
    elif of_b:
        ma = None
        mb = (<TensorBase>b).value.meta
        rb = (<TensorBase>b).value.raw
        ops = <PyObject*>mb.ops
        if type(a) is float:
            ra = a
        elif type(a) is (<Backend>ops).array_type:
            if op.promotes and (<TensorBase>b).tracked:
                a = (<Backend>ops).promoted(a, mb)
            ra = a
        else:
            ra = as_float(op, a, mb, False)
            if ra is not None:
                a = ra
            else:
                ra = other_operand(op, a, <Backend>ops)
            if ra is NotImplemented:
                return strange(op, a, b, <TensorBase>b, True)
    else:
        return binary_raw(op, a, b)
    r = (<Backend>ops).binary(op, ra, rb, &flags)
    if r is None:
        r = (<Backend>ops).wrap_raw((<Backend>ops).call(op, (ra, rb)))
    if flags & NODE_ASIDE:
        return with_aside(op, a, b, <tuple>r, <Backend>ops)
    if flags & NODE_NUMBER:             # all are numbers of one dtype
        out = new_tensor(r, ma if of_a else mb)
    else:
        out = new_tensor(r, (<Backend>ops).meta_like(r, ma, mb))
    if of_a and has_extra(<TensorBase>a):
        refresh(<TensorBase>a)
    if of_b and has_extra(<TensorBase>b):
        refresh(<TensorBase>b)
    if of_a and (<TensorBase>a).array0d == ITEMS_WRITTEN or of_b and (<TensorBase>b).array0d == ITEMS_WRITTEN:
        let_items_be_written(out)
    needs = (1 if of_a and (<TensorBase>a).tracked else 0) | (2 if of_b and (<TensorBase>b).tracked else 0)
    if needs and not op.differentiable:
        decided(op, a, b, out)
    elif needs and out.value.meta.is_floating:
        if not thread_state().grad_mode:
            return out
        attach(out, begun(op, a, b, out, needs, flags, <Backend>ops))
        if <PyObject*>op == _copysign and needs & 2:
            decided(op, b, None, out)
    return out


cdef object strange(Op op, object a, object b, TensorBase t, bint on_left):
    """Two operands, the Tensor `t` and something that is neither a number nor an array of its backend."""
    cdef bint done
    cdef object other = strange_operand(op, a if on_left else b, t, on_left, &done)
    if done:
        return other
    return binary(op, other, b) if on_left else binary(op, a, other)


cdef TensorBase with_aside(Op op, object a, object b, tuple results, Backend backend):
    """The result of an operation whose node, if there is one, keeps what the compiled forward left for the rule."""
    cdef TensorBase out = new_tensor(results[0], backend.meta(results[0]))
    record(op, (a, b), out, backend)
    if out.grad_fn_ is not None:
        keep_aside(out.grad_fn_, results[1])
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

cdef inline bint needs_grad(object arg) except -1:
    """`wants_grad`, without a call for the commonest arguments."""
    if is_tensor(arg):
        if has_extra(<TensorBase>arg):
            refresh(<TensorBase>arg)
        return (<TensorBase>arg).tracked
    return not is_static(arg) and wants_grad(arg)


cdef bint wants_grad(object arg) except -1:
    """Whether an argument requires grad. All of a list are asked: a view whose memory was written learns it here."""
    cdef bint wanted = False
    if is_tensor(arg):
        if (<TensorBase>arg).extra is not None:
            refresh(<TensorBase>arg)
        return (<TensorBase>arg).tracked
    if type(arg) is tuple or type(arg) is list:
        for item in arg:
            if not is_static(item) and nested(wants_grad, item):
                wanted = True
    return wanted


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
        If arrays of two backends meet, or a Tensor that requires grad stands where there is no derivative for it.
    """
    cdef object result
    if op.n_arrays == 1 and backend is None:
        return unary(op, args[0])
    if op.n_arrays == 2 and backend is None:
        result = binary(op, args[0], args[1])
        if result is NotImplemented:
            raise TypeError(f"{op.name}: expected arrays or scalars, but got {type(args[0]).__name__} and "
                            f"{type(args[1]).__name__}")
        return result
    if op.single and backend is None and is_tensor(args[0]) and all_static(args):
        return run_one(op, args, <TensorBase>args[0])
    found = backend_in(args, op)
    if found is None:
        found = backend if backend is not None else raw_backend_in(args)
        if found is None:
            raise TypeError(f"{op.name}: expected at least one array among the arguments")
    elif backend is not None and found is not backend or found is _several:
        return apply_op(op, of_the_library(op, args, backend), backend)
    return run(op, args, <Backend>found)


cdef object run_one(Op op, tuple args, TensorBase t):
    """`run` for an operation on one Tensor, the first argument, where the others are static."""
    cdef Value v = value_now(t)
    cdef Backend backend = <Backend>v.meta.ops
    cdef TensorBase out
    cdef tuple raws, left
    cdef object raw
    if is_observed():
        return observed(op, args, backend)
    raw = raw_now(t)
    raws = (raw, args[1]) if len(args) == 2 else (raw, args[1], args[2]) if len(args) == 3 else (raw,) + args[1:]
    if op.leaves and t.tracked and thread_state().grad_mode:
        left = backend.leaving(op, raws)
        if left is not None:
            return kept_behind(op, args, t, v.meta, left, backend)
    raw = backend.call(op, raws)
    raws = None
    if type(raw) is not backend.array_type:
        return finished(op, args, backend.wrap_raw(raw), backend)
    out = result_of(op, args, t, v.meta, raw, backend)
    if t.tracked or has_extra(t):
        record(op, args, out, backend)
    return out


cdef TensorBase kept_behind(Op op, tuple args, TensorBase t, GradMeta meta, tuple left, Backend backend):
    """The result of an operation whose node, if there is one, keeps what the compiled forward left for the rule."""
    cdef TensorBase out = result_of(op, args, t, meta, left[0], backend)
    record(op, args, out, backend)
    if out.grad_fn_ is not None:
        keep_behind(out.grad_fn_, left[1])
    return out


cdef inline TensorBase result_of(Op op, tuple args, TensorBase t, GradMeta meta, object raw, Backend backend):
    """The result of an operation whose first argument is `t`, of that metadata; noted where it is a view of it."""
    cdef TensorBase out = new_tensor(raw, backend.meta_like(raw, meta, None))
    if op.may_view:
        note_view(out, t, op, args, backend)
    if t.array0d == ITEMS_WRITTEN:
        let_items_be_written(out)
    if op.makes_arrays:
        out.array0d = op.name != "astype" or not is_like_scalar(t, backend)
    return out


cdef object run(Op op, tuple args, Backend backend):
    cdef tuple raws
    cdef object raw, result, arg
    cdef Py_ssize_t i
    if is_observed():
        return observed(op, args, backend)
    for i in range(op.n_inputs):
        arg = args[op.input_at[i]]
        if not is_tensor(arg) and not is_static(arg) and check_operand(op, arg, backend):
            return apply_op(op, of_the_library(op, args, None))
    raws = raw_arguments(args)
    raw = backend.call(op, raws)
    raws = None
    if op.transfers:
        return transferred(op, args, raw, backend)
    if op.multi:
        result = tuple([wrap(backend.wrap_raw(r), backend) for r in raw])
        if op.may_view and backend.mutable and args:
            note_views(result, op, args, backend)
            for i in range(len(result)):
                source = args[0] if op.sequence < 0 else args[op.sequence][i]
                if not is_tensor(source):
                    (<TensorBase>result[i]).value.exposed = True
        record(op, args, result, backend)
        return result_type_of(op)(*result) if op.named else result
    return finished(op, args, backend.wrap_raw(raw), backend)


cdef object finished(Op op, tuple args, object raw, Backend backend):
    """The one result of an operation, recorded."""
    cdef object result
    if type(raw) is not backend.array_type and not isinstance(raw, backend.array_type):
        for i in op.inputs:
            if wants_grad(args[i]):
                raise TypeError(f"{op.name}: expected {backend.name} to return an array, but got {type(raw).__name__}, "
                                f"which no gradient can reach; convert what stands beside the Tensors to numbers")
        return raw                      # bool, dtype, tuple of ints, ...: no array
    if args and is_tensor(args[0]):
        result = result_of(op, args, <TensorBase>args[0], value_now(<TensorBase>args[0]).meta, raw, backend)
    else:
        result = wrap(raw, backend)
        if op.may_view:
            (<TensorBase>result).value.exposed = True       # it may show the memory of a raw array of the program's
            if op.sequence >= 0 and backend.mutable:
                note_views((result,), op, args, backend)
        if op.makes_arrays:
            (<TensorBase>result).array0d = True
    record(op, args, result, backend)
    return result


cdef object transferred(Op op, tuple args, object raw, Backend source):
    """The result of an operation whose result belongs to another library than its argument."""
    cdef Backend backend = find_backend(raw)
    cdef TensorBase out = wrap(raw, backend)
    if is_tensor(args[0]) and source.mutable:
        note_view(out, <TensorBase>args[0], op, args, backend)
    record(op, args, out, backend)
    return out


cdef int record(Op op, tuple args, object result, Backend backend) except -1:
    """Make the node of an operation that ran, if some input with a rule requires grad."""
    cdef uint64_t needs = 0
    cdef Py_ssize_t k, i
    cdef OpNode node
    cdef TensorBase out
    cdef bint floating = False
    if not thread_state().grad_mode:
        return 0
    if not op.differentiable:
        if op.entry.derivative != "none" and not op.zero:
            for i in range(len(args)):
                if wants_grad(args[i]):
                    raise undifferentiable(op, i)
        ordered(op, args, result)
        return 0
    for k in range(op.n_inputs):
        if needs_grad(args[op.input_at[k]]):
            needs |= <uint64_t>1 << k
    if op.checks_others:
        for i in range(op.n_others):
            if needs_grad(args[op.other_at[i]]):
                raise undifferentiable(op, op.other_at[i])
    if needs == 0:
        return 0
    if op.multi:
        for out in result:
            floating = floating or out.value.meta.is_floating
        if not floating:
            return 0
    elif not (<TensorBase>result).value.meta.is_floating:
        return 0
    node = filled(op, args, result, needs, backend)
    if op.multi:
        for i in range(len(result)):
            out = <TensorBase>result[i]
            if out.value.meta.is_floating:
                attach(out, node)
                out.output_nr_ = <int>i
    else:
        attach(<TensorBase>result, node)
    return 0


cdef OpNode filled(Op op, tuple args, object result, uint64_t needs, Backend backend):
    """The node of an operation with these arguments, of which those in `needs` require grad, and this result."""
    cdef OpNode node
    cdef Py_ssize_t k
    cdef TensorBase out
    cdef uint32_t flags = 0
    cdef object arg, meta
    if op.multi:
        meta = tuple([(<TensorBase>out).value.meta for out in result])
    else:
        out = <TensorBase>result
        meta = out.value.meta
        flags = NODE_FAST if backend.plain(out.value.raw, op) else 0
    node = new_op_node(op, meta[0] if op.multi and len(<tuple>meta) == 1 else meta, flags)
    if op.multi:
        node.n_inputs = <int>len(<tuple>meta)
    if op.sequence >= 0:
        connect_all(node, args[op.sequence])
    else:
        for k in range(op.n_inputs):
            arg = args[op.input_at[k]]
            connect(node, <TensorBase>arg if is_tensor(arg) else None)
    save(node, op, args, result, needs, backend)
    if op.keeps_args:
        keep_args(node, op, args)
    return node


cdef int connect_all(OpNode node, object items) except -1:
    """Edges for a list of arrays; the further ones are built as one tuple."""
    cdef list more = []
    cdef Py_ssize_t i
    cdef int nr = 0
    cdef TensorBase t
    for i in range(len(items)):
        t = <TensorBase>items[i] if is_tensor(items[i]) else None
        if i < 2:
            connect(node, t)
            continue
        more.append(target_of(node, t, &nr))
        more.append(nr)
        node.n_edges += 1
    if more:
        node.more = more
    return 0


cdef object undifferentiable(Op op, Py_ssize_t i):
    cdef str elsewhere = op.entry.elsewhere
    if elsewhere:
        elsewhere = (f"{elsewhere}.{op.name} has one, and so has SciPy's function in "
                     "arraygrad.grad(f, adopt=True); ")
    return TypeError(f"{op.name}: argument {op.params[i]!r} requires grad, but {op.name} has no derivative with "
                     f"respect to it; {elsewhere}pass {op.params[i]}.detach() if its gradient is not wanted")


# Hooks around operations

cdef object set_op_hooks(tuple pairs):
    """Call each (before, after) of the tuple `pairs` (None: nothing) around this thread's operations.

    Returns the previous tuple, or None.
    """
    cdef ThreadState* ts = thread_state()
    cdef PyObject* old = <PyObject*>ts.op_hooks
    previous = None if old == NULL else <object>old
    if pairs is None:
        ts.op_hooks = NULL
    else:
        Py_INCREF(pairs)
        ts.op_hooks = <void*>pairs
    Py_XDECREF(old)
    return previous


cdef object observed(Op op, tuple args, Backend backend):
    """Run an operation with the thread's op hooks around it."""
    if backend is not None:
        return observed_call(op.name, args, lambda: run(op, args, backend))
    if op.n_arrays == 1:
        return observed_call(op.name, args, lambda: unary(op, args[0]))
    return observed_call(op.name, args, lambda: binary(op, args[0], args[1]))


cdef object observed_call(object name, tuple args, object call):
    """call(), with the thread's op hooks around it; what they and the operation itself call is not observed."""
    cdef tuple pairs = set_op_hooks(None)
    try:
        for before, _ in pairs:
            if before is not None:
                before(name, args)
        result = call()
        if result is not NotImplemented:
            for _, after in reversed(pairs):
                if after is not None:
                    after(name, args, result)
        return result
    finally:
        set_op_hooks(pairs)


# Views

cdef bint basic_key(object key) except -1:
    """Whether an index names a region: ints, slices, ... and None only."""
    if type(key) is tuple:
        for part in key:
            if not basic_key(part):
                return False
        return True
    return key is None or key is Ellipsis or type(key) in (int, slice)


cdef int note_view(TensorBase out, TensorBase base, Op op, tuple args, Backend backend) except -1:
    """If the result shares its memory with the input, remember how it was made from it."""
    cdef Extra e
    cdef long history
    if backend.mutable:
        if not backend.shares_memory(out.value.raw, raw_now(base)):
            return 0
        if base.value.meta.ndim == 0 and out.value.meta.size == 1 and rebinds(base):
            out.value.raw = backend.clone(out.value.raw, out.value.raw)     # Note [Scalars] (3)
            out.array0d = op is not None and op.name == "_getitem"
            return 0
        join_base(out.value, base, &history)
        out.value.inference = value_now(base).inference
        e = need_extra(out)
        e.seen = history                # before the view's node is made: a write meanwhile is one to catch up on
    elif op is None or op.name != "_getitem" or not basic_key(args[1]):
        return 0
    else:
        e = need_extra(out)             # (5)
    e.parent = base
    if op is None:
        e.forbidden = "multi"
    else:
        e.view_op = op
        e.view_args = args
        if not thread_state().grad_mode:
            e.forbidden = "inference" if thread_state().inference else "no_grad"
    if thread_state().inference and not out.value.inference and out.value.meta.is_floating:
        if has_extra(base):
            refresh(base)
        out.tracked = e.deferred = base.tracked     # (7)
    return 0


cdef int note_views(tuple results, Op op, tuple args, Backend backend) except -1:
    """`note_view` for several results: of one input, or the i-th of the i-th input as it is broadcast; einsum's."""
    cdef TensorBase out
    cdef Py_ssize_t i
    cdef Op broadcast
    if op.sequence < 0:
        if is_tensor(args[0]):
            for out in results:
                note_view(out, <TensorBase>args[0], None, None, backend)
        return 0
    inputs = args[op.sequence]
    if not op.multi:                    # einsum: with one operand it may be a transpose or a diagonal
        if len(inputs) == 1 and is_tensor(inputs[0]):
            note_view(<TensorBase>results[0], <TensorBase>inputs[0], named_op("_einsum_view"), (inputs[0], args[0]),
                      backend)
        return 0
    broadcast = named_op("broadcast_to")
    for i in range(len(results)):
        if is_tensor(inputs[i]):
            out = <TensorBase>results[i]
            note_view(out, <TensorBase>inputs[i], broadcast, (inputs[i], out.value.meta.shape_tuple()), backend)
    return 0


# Note [Views and in-place writes]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A view remembers the Tensor it was made from and the operation. A recorded write through it
# (1) gives its parent a new history, ViewWriteBackward: "the old parent with this region replaced by what was written".
#     A parent that is a view itself passes that on to its own, up to the Tensor that is no view: the base.
# (2) So everything that is read from this memory afterwards, through the written view too, depends on the base.
# (3) All views of the base are now behind: Storage.history counts such writes, and a view whose `seen` is older applies
#     its view operation to its parent's new history before it is used (`refresh`).
# (4) Some views have no view operation that could be applied anew without changing what they mean: one of several views
#     that one operation returned, a view made under no_grad, a view that a custom Function returned (its history is the
#     Function, and must not become the view operation). Extra.forbidden says which; writing them is refused, and so is
#     using them after their base was written.
# (5) Arrays of immutable libraries share nothing. A part taken by a basic index remembers its parent all the same:
#     items set in it (t[0][1:] = v) are set in the parent too, as a recorded assignment (`write_back` in inplace.pyx).
#     An in-place operator gives the part an array of its own, as in those libraries, and other parts taken before see
#     neither: they are values of their own.
# (6) retain_grad() belongs to a Tensor and moves on with its history. A tensor hook belongs to the history that it was
#     put on: one on a view is not run for a later write through that view, which goes to the base past it.
# (7) A view made in inference mode of an ordinary tensor is an ordinary one. In the mode nothing is recorded, so its
#     history is derived where it is first used outside (Extra.deferred).
# Guarded by test_VW1_* to test_VW6_*, and (5) by tests/backends/test_immutable_writes.py.
cdef int refresh(TensorBase t) except -1:
    """Derive a view's history anew if its memory was written through another Tensor (3)."""
    cdef Extra e = t.extra
    cdef Storage s
    cdef OpNode node
    check_source(t)
    if e.parent is None or not (<Backend>t.value.meta.ops).mutable:
        return 0
    s = storage_now(value_now(t))
    if s is None:
        return 0
    s.writing.lock()                            # another thread may be writing another view of this memory
    try:
        if e.seen == s.history and (not e.deferred or thread_state().inference):
            return 0
        if has_extra(e.parent):
            refresh(e.parent)
        if e.forbidden is not None and (e.seen != s.history or e.view_op is None):
            if not thread_state().grad_mode:
                return 0                        # nothing is recorded: the values are good
            if e.parent.tracked or t.tracked:
                raise forbidden_view(t, "and its base or another view of its base has been")      # (4)
        e.seen = s.history
        e.deferred = False
        if not e.parent.tracked or not t.value.meta.is_floating:
            set_history(t, None, 0)
            return 0
        node = view_node(t, e)
        keep_retaining(t, node, 0)
        set_history(t, node, 0)
    finally:
        s.writing.unlock()
    return 0


cdef int check_source(TensorBase t) except -1:
    """Refuse to go on with what a function returned, or a view of it, when the program has written that memory."""
    while t is not None and t.extra is not None:
        if t.extra.source is not None:
            t.extra.source.check()          # Note [Returned memory] in exposed_memory.pyx
        t = t.extra.parent
    return 0


cdef int keep_retaining(TensorBase t, Node node, int nr) except -1:
    """Let what retain_grad() asked for move on to the new history of a Tensor (6)."""
    cdef Node old = t.grad_fn_
    cdef NodeHooks hooks
    if old is None or old.hooks is None or not old.hooks.retains or t.output_nr_ not in old.hooks.retains:
        return 0
    hooks = node.need_hooks()
    if hooks.retains is None:
        hooks.retains = {}
    hooks.retains[nr] = old.hooks.retains.pop(t.output_nr_)
    return 0


cdef OpNode view_node(TensorBase t, Extra e):
    """A node for a view of what its parent is now."""
    cdef OpNode node = filled(e.view_op, e.view_args, t, 1, <Backend>t.value.meta.ops)
    finish(node)
    return node


cdef tuple _reversed_axes = tuple([tuple(range(n - 1, -1, -1)) for n in range(9)])


cdef tuple reversed_axes(int ndim):
    return <tuple>_reversed_axes[ndim] if ndim <= 8 else tuple(range(ndim - 1, -1, -1))
