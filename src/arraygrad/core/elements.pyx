# One element of an array: t[i], t[i, j] and t[i] = v by ints, without what regions need.
# May import: engine.*, core.op, core.value, core.write_protection, core.nodes, core.apply, core.inplace.
#
# Note [Elements]
# ~~~~~~~~~~~~~~~
# A program that loops over elements pays for the operation around each of them, and what an index may be (a region,
# a view of it, an array of indices) is most of that. Where ints name one real number of an array of NumPy's, the result
# is a scalar with memory of its own (Note [Scalars]), no view, and what is written is one number. The nodes are those
# of the general way, with the same saved values, and so are the checks before a write. Anything else is declined:
# nothing was done then.
# set_fast_paths(False) turns it off. Guarded by tests/backends/test_single_numbers.py.
from libc.stdint cimport uint32_t, uint64_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport (
    ThreadState, thread_state, NODE_ELEMENT, NODE_FAST, NODE_NUMBER,
)
from arraygrad.core.apply cimport connect, refresh
from arraygrad.core.inplace cimport adopt, check_inplace, refuse_scalar
from arraygrad.core.nodes cimport OpNode, attach, finish, is_unobserved, new_op_node
from arraygrad.core.op cimport Op
from arraygrad.core.write_protection cimport before_write, bump
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, has_extra, is_tensor, new_tensor, number_tensor, raw_now, value_now,
)

cdef extern from "Python.h":
    long PyLong_AsLongAndOverflow(object number, int* overflow) except? -1

cdef Op _getitem = None
cdef Op _setitem = None
cdef Backend _backend = None            # whose arrays are served
cdef read_ptr _read
cdef read_number_ptr _read_number
cdef put_ptr _put
cdef GradMeta _single_precision, _double_precision
# What nodes keep of small keys: nobody changes it.
cdef list _read_keys = [None] * 1024
cdef list _written_keys = [None] * 1024


cdef int use_operations(Op getitem, Op setitem) except -1:
    """Take the operations of the table that these are, if their nodes keep what is kept here."""
    global _getitem, _setitem
    if getitem.saves == ("x_meta",) and getitem.params == ("x", "key") and getitem.static_positions == (1,):
        _getitem = getitem
    if setitem.saves == () and setitem.params == ("x", "key", "value") and setitem.static_positions == (1,):
        _setitem = setitem
    return 0


cdef int serve(Backend backend, read_ptr read, read_number_ptr read_number, put_ptr put, GradMeta single_precision,
               GradMeta double_precision) except -1:
    """Let elements of the arrays of a backend be read and written by these functions.

    `single_precision` and `double_precision` are the metadata of what is read.
    """
    global _backend, _read, _read_number, _put, _single_precision, _double_precision
    _read = read
    _read_number = read_number
    _put = put
    _single_precision = single_precision
    _double_precision = double_precision
    _backend = backend
    return 0


cdef inline list kept(list known, object key, Py_ssize_t n):
    """What a node keeps of a call with `n` arguments, of which the key alone is asked for. Small ints have one list."""
    cdef long i
    cdef int overflow = 0
    cdef object found
    if type(key) is int and not FREE_THREADED:
        i = PyLong_AsLongAndOverflow(key, &overflow)
        if not overflow and 0 <= i < len(known):
            found = known[i]
            if found is None:
                found = known[i] = [None, key] if n == 2 else [None, key, None]
            return found
    return [None, key] if n == 2 else [None, key, None]


cdef inline OpNode begun(Op op, GradMeta meta, TensorBase t, list known, object key, Py_ssize_t n, uint64_t place,
                         uint32_t flags):
    """The node of an operation with `n` arguments on the element of `t` at `key`, the `place`-th of all.

    `known` has the lists of small keys; `flags` are those of a node that finds the element by its place alone.
    """
    cdef bint by_place = not FREE_THREADED and t.value.meta.typenum == _double_precision.typenum
    cdef OpNode node = new_op_node(op, meta, NODE_FAST | NODE_ELEMENT | flags if by_place else NODE_FAST)
    if by_place:
        node.print = place
    else:
        node.args = kept(known, key, n)
    connect(node, t)
    return node


cdef TensorBase element(TensorBase t, object key):
    """t[key], None: declined."""
    cdef ThreadState* ts = thread_state()
    cdef Value v
    cdef TensorBase out
    cdef OpNode node
    cdef object raw
    cdef uint64_t place
    cdef double number
    if _getitem is None or not is_unobserved(ts):
        return None
    v = value_now(t)
    if v.meta.ops is not _backend:
        return None
    if _read_number(raw_now(t), key, &place, &number):
        out = number_tensor(number, _double_precision)
    else:
        raw = _read(raw_now(t), key, &place)
        if raw is None:
            return None
        out = new_tensor(raw, _double_precision if v.meta.typenum == _double_precision.typenum else _single_precision)
    if has_extra(t):
        refresh(t)
    if t.tracked and ts.grad_mode:
        node = begun(_getitem, out.value.meta, t, _read_keys, key, 2, place, NODE_NUMBER)
        node.s0 = v.meta
        attach(out, node)
    return out


cdef bint put_element(TensorBase t, object key, object value) except -1:
    """t[key] = value for a number or a Tensor of one; False: declined."""
    cdef ThreadState* ts = thread_state()
    cdef TensorBase tv = None
    cdef OpNode node = None
    cdef object raw = value
    cdef bint recorded = False
    cdef uint64_t place
    refuse_scalar(t)
    if _setitem is None or t.value.meta.ops is not _backend or not is_unobserved(ts):
        return False
    if is_tensor(value):
        tv = <TensorBase>value
        if tv.value.meta.ndim or tv.value.meta.ops is not _backend or tv.value.meta.typenum != t.value.meta.typenum \
                or has_extra(tv):
            return False
        raw = tv.value.raw
        recorded = tv.tracked
    elif type(value) is not float and type(value) is not int:
        return False
    if not _put(t.value.raw, key, None, &place):
        return False
    check_inplace(t, recorded, "setitem")
    if (recorded or t.tracked) and ts.grad_mode:
        node = begun(_setitem, t.value.meta, t, _written_keys, key, 3, place, 0)
        connect(node, tv)
    before_write(t)
    if not _put(t.value.raw, key, raw, &place):
        return False                    # a number that does not fit, a read-only array: the library says so
    bump(t)
    if node is not None:
        finish(node)
        adopt(t, node, 0)
    return True
