# Views of one Tensor, made and recorded in one step: t[:, 1:], t.T, t.reshape(shape) and their kind.
# May import: engine.*, core.op, core.value, core.arguments, core.nodes, core.apply, core.elements.
#
# Note [Views in one step]
# ~~~~~~~~~~~~~~~~~~~~~~~~
# Most of what a view costs beside NumPy's own is the bookkeeping of the general way, which asks of each argument:
# may it hold a Tensor, may its gradient be wanted, may the caller change it later. Where all arguments but the first
# are plain (numbers, None, text, slices of such, tuples of such), nobody can change them and no gradient goes there, so
# the record of the view keeps them as they are. What is kept, and in which order it is noted, is that of `run_one`,
# `note_view` and `record` in apply.pyx.
# So do operations of one array that has a derivative beside plain ones that have none: special functions of an order,
# rows at places (`beside`).
# Gathers, t[rows, columns] and t[mask], take the same way: what they give is a copy, and the node keeps copies of the
# arrays of indices. Lists of ints or bools become such arrays first, and NumPy's integers ints (`plain_key`).
# Served are arrays of NumPy's with axes, while no hook looks on and inference mode is off. Anything else is declined:
# nothing was done then.
# set_fast_paths(False) turns it off. Guarded by tests/core/test_views_in_one_step.py.
from operator import index

from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Node, ThreadState, thread_state, track
from arraygrad.core.apply cimport apply_op, filled, refresh, reversed_axes
from arraygrad.core.arguments cimport all_static, is_static
from arraygrad.core.elements cimport element
from arraygrad.core.nodes cimport attach, is_unobserved
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.value cimport (
    Backend, Extra, Storage, TensorBase, Value, has_extra, is_tensor, join_base, make_tensor, need_extra, new_tensor,
    raw_now, value_now,
)

cdef extern from "Python.h":
    bint PyIndex_Check(object x)
    bint PySlice_Check(object x)
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) noexcept

cdef Backend _backend = None            # whose arrays are served
cdef object _place_dtype                # of NumPy's arrays of places, and the class of its integers
cdef object _integer
cdef bint (*_enabled)() noexcept
cdef Op GETITEM, PERMUTE, FLIP, RESHAPE


cdef int use_shapes(Op getitem, Op permute_dims) except -1:
    """Take the operations of the table that are called here by themselves."""
    global GETITEM, PERMUTE, FLIP, RESHAPE
    GETITEM, PERMUTE, FLIP, RESHAPE = getitem, permute_dims, named_op("flip"), named_op("reshape")
    return 0


cdef int serve_views(Backend backend, bint (*enabled)() noexcept) except -1:
    """Serve views of the arrays of a backend, while `enabled()`."""
    import numpy
    global _backend, _enabled, _place_dtype, _integer
    _place_dtype, _integer = numpy.dtype(numpy.intp), numpy.integer
    _enabled = enabled
    _backend = backend
    return 0


cpdef object shape_op(Op op, tuple args):
    """apply_op(op, args), in one step where that is served."""
    cdef TensorBase out = None
    if op.shows and is_tensor(args[0]) and all_static(args):
        out = view(op, args, <TensorBase>args[0], True)
    return apply_op(op, args) if out is None else out


cdef object indexed(TensorBase t, object key):
    """t[key]."""
    cdef TensorBase out = None
    cdef tuple args
    cdef bint region
    key = key_of(t, key)
    region = is_region(key, t.value.meta.ndim)
    if region or is_gather(key):
        args = (t, key)
        out = view(GETITEM, args, t, region)
        return apply_op(GETITEM, args) if out is None else out
    out = element(t, key)
    return apply_op(GETITEM, (t, key)) if out is None else out


cdef object key_of(TensorBase t, object key):
    """A key of a Tensor, as `plain_key` has it where that is for its library."""
    if PyLong_CheckExact(key) or PySlice_Check(key) or t.value.meta.ops is not _backend:
        return key
    return plain_key(key)


cdef object plain_key(object key):
    """A key as NumPy understands it, of ints, slices, None, ... and arrays of ints of its size for places.

    Lists of ints, or of bools, become arrays, NumPy's integers ints, and arrays of smaller integers those of places:
    what programs have of a loop over numpy.arange, and what sparse matrices are made of. Others stay as they are.
    """
    cdef list parts = None
    cdef Py_ssize_t i
    if type(key) is not tuple:
        return plain_part(key)
    for i in range(len(<tuple>key)):
        part = (<tuple>key)[i]
        found = plain_part(part)
        if found is not part:
            if parts is None:
                parts = list(<tuple>key)
            parts[i] = found
    return key if parts is None else tuple(parts)


cdef object plain_part(object part):
    """One part of a key, as `plain_key` has it."""
    if PyLong_CheckExact(part) or PySlice_Check(part) or part is None or part is Ellipsis:
        return part
    if type(part) is list:
        return _backend.asarray(part, None, None) if is_of_one_kind(<list>part) else part
    if type(part) is _backend.array_type:
        dtype = part.dtype
        if dtype is _place_dtype or dtype.kind not in "iu" or dtype.itemsize >= _place_dtype.itemsize or part.ndim == 0:
            return part
        return part.astype(_place_dtype)
    if PyIndex_Check(part) and isinstance(part, _integer):
        return int(part)
    return part


cdef bint is_of_one_kind(list items) noexcept:
    """Whether a list holds ints that fit an index, and nothing else, or bools alone."""
    cdef Py_ssize_t i, n = len(items)
    cdef int overflow = 0
    if n == 0:
        return False
    if type(items[0]) is bool:
        for i in range(1, n):
            if type(items[i]) is not bool:
                return False
        return True
    for i in range(n):
        if not PyLong_CheckExact(items[i]):
            return False
        PyLong_AsLongLongAndOverflow(items[i], &overflow)
        if overflow:
            return False
    return True


cdef bint is_gather(object key) noexcept:
    """Whether a key is an array of the backend's, or a tuple of such and of ints, slices, None and ..."""
    cdef Py_ssize_t i, arrays = 0
    if _backend is None:
        return False
    if type(key) is not tuple:
        return type(key) is _backend.array_type
    for i in range(len(<tuple>key)):
        part = (<tuple>key)[i]
        if type(part) is _backend.array_type:
            arrays += 1
        elif not is_static(part):
            return False
    return arrays > 0


cdef bint is_region(object key, int ndim) noexcept:
    """Whether a key of ints, slices, None and ... names more than one element, in an array with so many axes."""
    cdef Py_ssize_t i, numbers = 0
    if type(key) is tuple:
        for i in range(len(<tuple>key)):
            part = (<tuple>key)[i]
            if PyLong_CheckExact(part):
                numbers += 1
            elif not (part is None or part is Ellipsis or PySlice_Check(part) and is_static(part)):
                return False
        return numbers < ndim or len(<tuple>key) > numbers
    if PyLong_CheckExact(key):
        return ndim > 1
    return key is None or key is Ellipsis or PySlice_Check(key) and is_static(key)


cdef object transposed(TensorBase t):
    """t.T"""
    return shape_op(PERMUTE, (t, reversed_axes(t.value.meta.ndim)))


cdef bint is_lone(Op op) noexcept:
    """Whether an operation has one result, which is no view, of one array that has a derivative, beside others."""
    return (op.n_arrays == 0 and op.sequence < 0 and len(op.inputs) == 1 and len(op.params) > 1
            and not (op.multi or op.transfers or op.may_view or op.leaves or op.makes_arrays))


cdef TensorBase beside(Op op, tuple args, Py_ssize_t place):
    """The result of a lone operation on the Tensor at `place` beside plain arguments and arrays; None: declined."""
    cdef ThreadState* ts = thread_state()
    cdef TensorBase t = <TensorBase>args[place]
    cdef TensorBase out
    cdef Value v = value_now(t)
    cdef object raw, result
    cdef Py_ssize_t i
    if v.meta.ops is not _backend or not is_unobserved(ts) or not _enabled():
        return None
    for i in range(len(args)):
        if i != place and type(args[i]) is not _backend.array_type and not is_static(args[i]):
            return None
    raw = raw_now(t)
    if len(args) == 2:
        result = (args[0], raw) if place == 1 else (raw, args[1])
    elif len(args) == 3 and place == 2:
        result = (args[0], args[1], raw)
    else:
        result = args[:place] + (raw,) + args[place + 1:]
    result = _backend.call(op, result)
    if type(result) is not _backend.array_type:
        result = _backend.wrap_raw(result)
        if type(result) is not _backend.array_type:
            return None
    out = new_tensor(result, _backend.meta_like(result, v.meta, None))
    if not ts.grad_mode:
        return out
    if has_extra(t):
        refresh(t)
    if t.tracked and out.value.meta.is_floating:
        attach(out, filled(op, args, out, 1, _backend))
    return out


cdef inline bint is_empty(GradMeta meta) noexcept:
    cdef int i
    for i in range(meta.ndim):
        if meta.dims[i] == 0:
            return True
    return False


cdef TensorBase view(Op op, tuple args, TensorBase t, bint plain):
    """The result of an operation with `op.shows`; None: declined. `plain`: its other arguments are; else t[arrays]."""
    cdef ThreadState* ts = thread_state()
    cdef Value v = value_now(t)
    cdef Value shown
    cdef TensorBase out
    cdef Extra e
    cdef object raw, result
    cdef long history
    cdef bint shares
    if v.meta.ops is not _backend or not is_unobserved(ts) or v.meta.ndim == 0 or not _enabled():
        return None
    raw = raw_now(t)
    if plain and op is GETITEM:
        result = raw[args[1]]
    else:
        result = _backend.call(op, (raw, args[1]) if len(args) == 2 else (raw, args[1], args[2]) if len(args) == 3
                               else (raw,) + args[1:])
    if type(result) is not _backend.array_type:
        return None                     # a single element
    out = new_tensor(result, _backend.meta_like(result, v.meta, None) if op is FLIP else _backend.meta(result))
    shown = out.value
    if plain and (op is GETITEM or op is PERMUTE or op is FLIP) and shown.meta.ndim <= 8:
        shares = not is_empty(shown.meta)
    else:
        shares = _backend.shares_memory(result, raw)    # a reshape may have copied
        if shares and not plain:
            return None                 # arrays without axes count as ints
    if shares:
        join_base(shown, t, &history)
        shown.inference = v.inference
        e = need_extra(out)
        e.seen = history                # before the view's node is made: a write meanwhile is one to catch up on
        e.parent = t
        e.view_op = op
        e.view_args = args
        if not ts.grad_mode:
            e.forbidden = "no_grad"
    if not ts.grad_mode:
        return out
    if has_extra(t):
        refresh(t)
    if t.tracked and shown.meta.is_floating:
        attach(out, filled(op, args, out, 1, _backend))
    return out


# Note [Shapes that are set]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~
# `y.shape = (2, 2)` gives the same array another shape. A Tensor's shape belongs to its place in the graph and to its
# views, so the Tensor becomes a view: a new Tensor takes over what it was (its Value, its history, its own parent, the
# views of it), and `y` is from then on `thatone.reshape(shape)`. Writes through `y`, and through older views, go on to
# the new Tensor as with any view (Note [Views and in-place writes] in apply.pyx).
# Arrays without elements share no memory: the Tensor is then no view, and any shape without elements fits.
# Refused are leaves that require grad, of which transforms and `.grad` know the shape.
# Guarded by tests/core/test_shapes_that_are_set.py.
cdef int set_shape(TensorBase t, object shape) except -1:
    """`t.shape = shape`."""
    cdef TensorBase was, shown, child
    cdef Storage s
    cdef size_t i
    cdef Node node = t.grad_fn_
    if not (<Backend>t.value.meta.ops).mutable or (not t.value.meta.ndim and not t.array0d):
        raise AttributeError("Tensor.shape can't be set: write t = t.reshape(shape), which is recorded")
    if t.tracked and node is None or t.grad_ is not None or retains(t):
        raise AttributeError("Tensor.shape can't be set of a Tensor whose gradient is kept, a leaf that requires grad "
                             "or after retain_grad(): write t = t.reshape(shape), which is recorded")
    if has_extra(t):
        refresh(t)
    was = make_tensor()
    was.value = t.value
    was.value.tensor = <void*>was
    was.grad_fn_, was.output_nr_, was.tracked, was.array0d = t.grad_fn_, t.output_nr_, t.tracked, t.array0d
    was.extra = t.extra
    track(<PyObject*>was)
    try:
        lengths = (shape,) if PyIndex_Check(shape) else shape
        shown = <TensorBase>shape_op(RESHAPE, (was, tuple([index(n) for n in lengths]), None))
        if shown.value.meta.size == 0:
            shown.value.inference = was.value.inference     # no memory to share: it is a view of nothing
        elif shown.extra is None or shown.extra.parent is not was:
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
                                 "the desired shape.")
    except BaseException:
        t.value.tensor = <void*>t
        raise
    if t.extra is not None and t.extra.attributes is not None:
        need_extra(shown).attributes, t.extra.attributes = t.extra.attributes, None
    t.value = shown.value
    t.value.tensor = <void*>t
    t.grad_fn_, t.output_nr_, t.tracked, t.array0d = shown.grad_fn_, shown.output_nr_, shown.tracked, True
    t.extra = shown.extra
    track(<PyObject*>t)
    s = t.value.storage
    for i in range(s.members.size() if s is not None else 0):
        if (<Value>s.members[i]).tensor == NULL:
            continue
        child = <TensorBase>(<Value>s.members[i]).tensor
        if child is not t and child.extra is not None and child.extra.parent is t:
            child.extra.parent = was
            child.extra.view_args = (was,) + child.extra.view_args[1:]
    return 0


cdef bint retains(TensorBase t):
    """Whether retain_grad() was called."""
    cdef Node node = t.grad_fn_
    return node is not None and node.hooks is not None and node.hooks.retains and t.output_nr_ in node.hooks.retains
